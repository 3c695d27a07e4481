// tests/trainer/inference/document_translator_test.cpp: windows of lines, and one translation for each line.
#include "trainer/inference/document_translator.h"

#include <gtest/gtest.h>

#include "data/tags.h"
#include "tests/support/errors.h"
#include "tests/trainer/inference/translation_fixture.h"

namespace weft {
namespace {

using testing::on_grid;
using testing::RandomModel;
using testing::small_model_config;

constexpr int32_t kSep = 3, kTag = 4;

class DocumentTranslatorTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new testing::TemporaryFolder;
    write_file_atomically(*folder_ / "sep.model", train_tokenizer(testing::sample_lines(400),
                                                                  {.vocab_size = 312, .tags = {kSeparator, "<2de>"}}));
    tokenizer_ = new Tokenizer(*folder_ / "sep.model");
  }
  static void TearDownTestSuite() {
    delete tokenizer_;
    delete folder_;
  }
  static DecodeConfig decode() { return {.beam = 2, .max_length_factor = 1, .max_length_extra = 4}; }

  // Calls `body` with a translator in which the bias of the separator is raised by `bias`.
  static void with_translator(const std::function<void(Translator&)>& body, float bias = 0) {
    on_grid(1, 1, [&](const Mesh& mesh) {
      ModelConfig config = small_model_config(tokenizer_->size());
      config.bias_output = true;
      RandomModel m(config, mesh);
      for (const Param& p : m.params.params())
        if (p.spec.name == "output.bias")
          testing::change(m.ctx, p.value, [&](std::vector<float>& values) { values[kSep] += bias; });
      Translator translator(m.replica, *tokenizer_, *tokenizer_, decode());
      body(translator);
    });
  }
  static std::vector<TranslationInput> inputs(const std::vector<std::string>& lines, const std::string& tag = "") {
    std::vector<TranslationInput> all;
    for (const std::string& line : lines)
      all.push_back(encode_line({.text = line, .tag = tag, .target_tag = "", .prefix = ""}, *tokenizer_, *tokenizer_));
    return all;
  }

  static testing::TemporaryFolder* folder_;
  static Tokenizer* tokenizer_;
};
testing::TemporaryFolder* DocumentTranslatorTest::folder_ = nullptr;
Tokenizer* DocumentTranslatorTest::tokenizer_ = nullptr;

TEST_F(DocumentTranslatorTest, LinesThatTheModelDoesNotSeparateAreTranslatedAlone) {
  const std::vector<TranslationInput> lines =
      inputs({"the house", "small tree", "", "green river", "bird sings", "is under stone"});
  with_translator(
      [&](Translator& translator) {
        DocumentTranslator documents(translator, 60);
        const std::vector<NBest> found = documents.translate(lines), alone = translator.translate_inputs(lines);
        ASSERT_EQ(found.size(), lines.size());
        for (size_t i = 0; i < lines.size(); ++i) EXPECT_EQ(found[i][0].text, alone[i][0].text) << i;
        EXPECT_EQ(found[2][0].text, "");
        EXPECT_EQ(documents.num_joined(), 5);
        EXPECT_EQ(documents.num_again(), 5);
      },
      /*bias=*/-100);
}

// A forced separator and a model that writes no other: the first line's translation is empty.
TEST_F(DocumentTranslatorTest, LinesGetTheTokensBetweenTheSeparatorsOfTheirWindow) {
  std::vector<TranslationInput> lines = inputs({"the house", "small tree"});
  for (TranslationInput& line : lines) line.prefix = {kSep};
  TranslationInput together = lines[0];
  together.source.push_back(kSep);
  together.source.insert(together.source.end(), lines[1].source.begin(), lines[1].source.end());
  with_translator(
      [&](Translator& translator) {
        const Translation whole = translator.translate_inputs({together})[0][0];
        ASSERT_GT(whole.tokens.size(), 1u);
        DocumentTranslator documents(translator, 60);
        const std::vector<NBest> found = documents.translate(lines);
        EXPECT_TRUE(found[0][0].tokens.empty());
        EXPECT_EQ(found[1][0].tokens, std::vector<int32_t>(whole.tokens.begin() + 1, whole.tokens.end()));
        EXPECT_EQ(found[1][0].text, whole.text);
        EXPECT_EQ(found[0][0].end, kSep);
        EXPECT_TRUE(found[0][0].log_probs.empty()) << "the separator was forced";
        EXPECT_EQ(found[1][0].log_probs, whole.log_probs);
        EXPECT_EQ(found[1][0].score, whole.score);
        EXPECT_EQ(documents.num_again(), 0);
      },
      /*bias=*/-100);
}

TEST_F(DocumentTranslatorTest, WindowsEndAtTheirTokensAtEmptyLinesAndAtOtherTags) {
  with_translator([&](Translator& translator) {
    const size_t two = inputs({"the house"})[0].source.size() + 1 + inputs({"small tree"})[0].source.size();
    const DocumentTranslator documents(translator, static_cast<int64_t>(two));
    EXPECT_EQ(documents.num_complete(inputs({"the house", "small tree"})), 0u);
    EXPECT_EQ(documents.num_complete(inputs({"the house", "small tree", "a"})), 2u);
    EXPECT_EQ(documents.num_complete(inputs({"the house", "", "small tree"})), 2u);
    EXPECT_EQ(documents.num_complete(inputs({"the house", ""})), 2u);
    EXPECT_EQ(documents.num_complete({}), 0u);
    std::vector<TranslationInput> mixed = inputs({"a"});
    mixed.push_back(inputs({"a"}, "<2de>")[0]);
    EXPECT_EQ(mixed[1].source.front(), kTag);
    EXPECT_EQ(documents.num_complete(mixed), 1u);
  });
}

TEST_F(DocumentTranslatorTest, RefusesWhatTheModelOrItsTokenizerCannotDo) {
  with_translator([&](Translator& translator) {
    testing::expect_error([&] { DocumentTranslator(translator, 1000); }, ErrorKind::usage,
                          {"--documents 1000", "must be between 1 and 199"});
  });
  const Tokenizer plain(testing::write_tokenizer(*folder_ / "plain.model"));
  on_grid(1, 1, [&](const Mesh& mesh) {
    RandomModel m(small_model_config(plain.size()), mesh);
    Translator translator(m.replica, plain, plain, decode());
    testing::expect_error([&] { DocumentTranslator(translator, 60); }, ErrorKind::usage,
                          {"--documents: '<sep>' is not a tag of the tokenizer"});
  });
}

}  // namespace
}  // namespace weft
