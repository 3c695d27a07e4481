// tests/launch/reports/alignment_files_test.cpp: alignment files: Pharaoh, JSON lines, drawings; choice of
// attention.
#include "launch/reports/alignment_files.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "data/atomic_file.h"
#include "tests/data/sentencepiece_model.h"
#include "tests/support/errors.h"
#include "tests/support/xml.h"
#include "tests/trainer/inference/translation_fixture.h"

namespace weft::testing {
namespace {

class AlignmentFilesTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    shared_ = new TemporaryFolder;
    tokenizer_ = new Tokenizer(write_tokenizer(*shared_ / "tokenizer.model"));
  }
  static void TearDownTestSuite() {
    delete tokenizer_;
    delete shared_;
  }
  static Alignment two_by_three() {
    return {.source = {270, 271, 2}, .target = {272, 2}, .weights = {0.125f, 0.625f, 0.25f, 0.0625f, 0.3125f, 0.625f}};
  }
  void write(const std::string& name, const std::vector<Alignment>& alignments) {
    const auto file = open_alignment_file(folder_ / name, *tokenizer_, *tokenizer_, "layer 1");
    for (const Alignment& a : alignments) file->add(a);
    file->finish();
  }
  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path()))
      names.push_back(entry.path().filename().string());
    std::sort(names.begin(), names.end());
    return names;
  }
  // The error of check_files for files in the folder; "" if there is none.
  std::string refusal(const std::vector<std::string>& names) const {
    AlignmentRequest request;
    for (const std::string& name : names) request.files.push_back(name.empty() ? "" : folder_ / name);
    try {
      request.check_files();
    } catch (const Error& e) {  // of several kinds
      return e.what();
    }
    return "";
  }
  static Transformer::AttentionChoice choice(const std::string& layer, const std::string& head) {
    const ModelConfig model{.heads = 4, .decoder_layers = 3};
    return AlignmentRequest{.layer = layer, .head = head}.choice(model);
  }

  TemporaryFolder folder_;
  static TemporaryFolder* shared_;
  static Tokenizer* tokenizer_;
};
TemporaryFolder* AlignmentFilesTest::shared_ = nullptr;
Tokenizer* AlignmentFilesTest::tokenizer_ = nullptr;

TEST_F(AlignmentFilesTest, TextIsPharaohsPairsALineASentence) {
  const Alignment longer{
      .source = {270, 271, 2}, .target = {272, 273, 2}, .weights = {0, 1, 0, 0.75f, 0, 0.25f, 0, 0, 1}};
  write("out.align", {two_by_three(), {}, longer});
  EXPECT_EQ(read_file(folder_ / "out.align"), "1-0\n\n1-0 0-1\n");
}

TEST_F(AlignmentFilesTest, JsonLinesKeepPiecesAndEveryProbability) {
  write("out.jsonl", {two_by_three(), {}});
  const std::string text = read_file(folder_ / "out.jsonl");
  const size_t end = text.find('\n');
  const nlohmann::json line = nlohmann::json::parse(text.substr(0, end));
  EXPECT_EQ(line["source"], nlohmann::json({tokenizer_->piece(270), tokenizer_->piece(271), "</s>"}));
  EXPECT_EQ(line["target"], nlohmann::json({tokenizer_->piece(272), "</s>"}));
  EXPECT_EQ(line["weights"], nlohmann::json::parse("[[0.125, 0.625, 0.25], [0.0625, 0.3125, 0.625]]"));
  EXPECT_EQ(text.substr(end + 1), "{\"source\":[],\"target\":[],\"weights\":[]}\n");
}

TEST_F(AlignmentFilesTest, JsonOfOneSentenceIsOneLineWhateverItsPiecesAre) {
  const std::string piece = "x\u2028y\n\u0085z\u007F";
  const Tokenizer tokenizer(tokenizer_with_piece(folder_, piece));
  ASSERT_EQ(tokenizer.piece(kFirstOwnPiece), piece);
  const std::string line = json_line({.source = {kFirstOwnPiece}, .target = {}, .weights = {}}, tokenizer, tokenizer);
  EXPECT_EQ(line, R"({"source":["x\u2028y\n\u0085z\u007f"],"target":[],"weights":[]})");
  EXPECT_EQ(nlohmann::json::parse(line)["source"][0], piece);
}

TEST_F(AlignmentFilesTest, ADrawingOfOneSentenceHasTheNameThatWasGiven) {
  write("out.svg", {two_by_three()});
  EXPECT_EQ(files(), std::vector<std::string>{"out.svg"});
  std::vector<std::string> texts;
  for (const XmlElement& e : XmlReader::read(read_file(folder_ / "out.svg"))) texts.push_back(e.text);
  for (const std::string& label : {tokenizer_->piece(270), tokenizer_->piece(272), std::string("translation")})
    EXPECT_EQ(std::count(texts.begin(), texts.end(), label), 1) << label;
  EXPECT_EQ(std::count(texts.begin(), texts.end(), "</s>"), 2);  // one a side
}

TEST_F(AlignmentFilesTest, DrawingsOfSeveralSentencesAreNumberedByLine) {
  write("out.svg", {two_by_three(), {}, two_by_three()});
  EXPECT_EQ(files(), (std::vector<std::string>{"out-0001.svg", "out-0002.svg", "out-0003.svg"}));
  EXPECT_NE(read_file(folder_ / "out-0003.svg").find("line 3: cross-attention, layer 1"), std::string::npos);
}

TEST_F(AlignmentFilesTest, TextThatIsNotFinishedLeavesNoFile) {
  {
    const auto file = open_alignment_file(folder_ / "out.align", *tokenizer_, *tokenizer_, "");
    file->add(two_by_three());
  }
  EXPECT_TRUE(files().empty());
}

TEST_F(AlignmentFilesTest, AFolderThatIsNotThereIsRefusedAtOnce) {
  for (const char* name : {"none/out.svg", "none/out.align"})
    EXPECT_THROW(open_alignment_file(folder_ / name, *tokenizer_, *tokenizer_, ""), Error) << name;
}

TEST_F(AlignmentFilesTest, DrawingsOfAnEarlierCallDoNotStayBesideNewOnes) {
  write("out.svg", {two_by_three(), two_by_three(), two_by_three()});
  write_file_atomically(folder_ / "out-2024.svg", "<svg/>");  // not ours
  write("out.svg", {two_by_three()});
  EXPECT_EQ(files(), (std::vector<std::string>{"out-2024.svg", "out.svg"}));
  write("out.svg", {two_by_three(), two_by_three()});
  EXPECT_EQ(files(), (std::vector<std::string>{"out-0001.svg", "out-0002.svg", "out-2024.svg"}));
}

TEST_F(AlignmentFilesTest, AnEndingThatIsNearlyOneOfOursIsRefusedWithTheRightOne) {
  for (const auto& [name, part] : {std::pair{"a.json", "did you mean .jsonl?"},
                                   {"a.jsn", "did you mean .jsonl?"},
                                   {"a.JSONL", "did you mean .jsonl?"},
                                   {"a.SVG", "did you mean .svg?"},
                                   {"a.svgz", "did you mean .svg?"},
                                   {".svg", "the name before .svg is missing"}})
    EXPECT_NE(refusal({name}).find(part), std::string::npos) << name << ": " << refusal({name});
  EXPECT_EQ(refusal({"a.txt", "a.align", "a", "a.gdfa", "a.svg", "a.jsonl"}), "");
}

TEST_F(AlignmentFilesTest, WhatCannotBeWrittenIsRefusedBeforeAnyWork) {
  EXPECT_NE(refusal({"d.txt", "./d.txt"}).find("given twice"), std::string::npos);
  EXPECT_NE(refusal({"d.svg", "d.svg"}).find("given twice"), std::string::npos);
  EXPECT_NE(refusal({""}).find("names no file"), std::string::npos);
  EXPECT_NE(refusal({"."}).find("is a folder"), std::string::npos);
  EXPECT_NE(refusal({"none/out.svg"}).find("No such file"), std::string::npos);
  EXPECT_TRUE(files().empty());
}

TEST_F(AlignmentFilesTest, ADrawingsColoursReachToItsLargestValue) {
  const std::string svg = drawing(two_by_three(), *tokenizer_, *tokenizer_, "");
  EXPECT_NE(svg.find("<path fill=\"#052454\" d=\"M1 0h1v1h-1zM2 1h1v1h-1z\"/>"), std::string::npos) << svg;
  EXPECT_NE(svg.find(">0.625</text>"), std::string::npos) << svg;  // of the legend
}

TEST_F(AlignmentFilesTest, ADrawingOfALongSentenceHasSmallerCells) {
  const auto width = [&](size_t tokens) {
    const Alignment a{
        .source = std::vector<int32_t>(tokens, 270), .target = {2}, .weights = std::vector<float>(tokens)};
    return std::stod(XmlReader::read(drawing(a, *tokenizer_, *tokenizer_, "")).front().attributes.at("width"));
  };
  EXPECT_NEAR(width(40) - width(20), 20 * 22, 1);
  EXPECT_LT(width(150), 1300);
  EXPECT_LT(width(500), 500 * 6 + 200);
}

TEST_F(AlignmentFilesTest, LayerAndHeadAreNumbersOrWords) {
  EXPECT_EQ(choice("last", "mean").layer, 2);
  EXPECT_EQ(choice("last", "mean").head, -1);
  EXPECT_EQ(choice("mean", "3").layer, -1);
  EXPECT_EQ(choice("0", "3").layer, 0);
  EXPECT_EQ(choice("0", "3").head, 3);
}

TEST_F(AlignmentFilesTest, ALayerOrHeadThatIsNotThereIsRefusedWithTheRange) {
  for (const char* layer : {"3", "-1", "1x", "", "first"}) EXPECT_THROW(choice(layer, "mean"), Error) << layer;
  for (const char* head : {"4", "-1", "last"}) EXPECT_THROW(choice("last", head), Error) << head;
  expect_error([] { choice("7", "mean"); }, ErrorKind::usage, {"alignment-layer = '7' is not valid: give 0 to 2"});
}

}  // namespace
}  // namespace weft::testing
