// tests/data/subword/piece_list_test.cpp: reads the pieces of a SentencePiece model, and replaces them.
#include "data/subword/piece_list.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "data/subword/piece_splitter.h"
#include "data/tokenizer.h"
#include "tests/data/sentencepiece_model.h"

namespace weft {
namespace {

using testing::expect_error;
using testing::TemporaryFolder;

// Moves the three special pieces to the front.
std::vector<Piece> in_order_of_weft(std::vector<Piece> pieces, const std::vector<std::string>& specials) {
  for (size_t i = 0; i < specials.size(); ++i) {
    const auto special =
        std::find_if(pieces.begin(), pieces.end(), [&](const Piece& p) { return p.text == specials[i]; });
    std::rotate(pieces.begin() + static_cast<std::ptrdiff_t>(i), special, special + 1);
  }
  return pieces;
}

TEST(PieceList, HasThePiecesOfTheTokenizerByTheirIds) {
  const Tokenizer tokenizer(testing::small_tokenizer());
  const PieceList list = read_pieces(read_file(testing::small_tokenizer()), "small");
  EXPECT_EQ(list.kind, PieceList::bpe);
  ASSERT_EQ(std::ssize(list.pieces), tokenizer.size());
  for (size_t id = 0; id < list.pieces.size(); ++id)
    EXPECT_EQ(list.pieces[id].text, tokenizer.piece(static_cast<int32_t>(id)));
}

TEST(PieceList, OfAnotherOrderSegmentsTextTheSameWay) {
  const TemporaryFolder folder;
  for (const char* kind : {"bpe", "unigram"}) {
    const std::string theirs = testing::train_sentencepiece(
        folder, {{"model_type", kind}, {"bos_id", "2"}, {"eos_id", "0"}, {"unk_id", "1"}, {"unk_piece", "<unknown>"}});
    const std::string model = read_file(theirs);
    PieceList list = read_pieces(model, theirs);
    list.pieces = in_order_of_weft(list.pieces, {"<unknown>", "<s>", "</s>"});
    write_file_atomically(folder / "ours.model", with_pieces(model, list));
    EXPECT_EQ(read_pieces(read_file(folder / "ours.model"), "ours").pieces, list.pieces);

    const PieceSplitter before(theirs), after(folder / "ours.model");
    const Tokenizer ours(folder / "ours.model");  // refuses other special ids
    for (const std::string& line : testing::sentences(20, 2)) {
      EXPECT_EQ(after.split(line), before.split(line));
      EXPECT_EQ(ours.decode(ours.encode(line)), line);
    }
  }
}

// Protocol Buffers join messages that occur several times, and SentencePiece tests a model with the samples in field 4.
TEST(PieceList, KeepsSettingsInSeveralMessagesAndLeavesOutSamples) {
  const TemporaryFolder folder;
  const std::string theirs = testing::train_sentencepiece(folder, {{"self_test_sample_size", "3"}});
  const std::string model = read_file(theirs) + std::string("\x12\x02\x38\x01", 4);  // trainer_spec {7: 1}
  const PieceList list = read_pieces(model, theirs);
  EXPECT_EQ(list.kind, PieceList::bpe);
  EXPECT_EQ(read_pieces(with_pieces(model, list), theirs).kind, PieceList::bpe);
  EXPECT_NO_THROW(require_sentencepiece(with_pieces(model, list), theirs));
  EXPECT_NO_THROW(require_sentencepiece(without_normalization(model), theirs));
}

TEST(PieceList, NeverDividesTextIntoUnusedOrControlPieces) {
  const TemporaryFolder folder;
  for (const char* kind : {"bpe", "unigram"}) {
    const std::string theirs = testing::train_sentencepiece(folder, {{"model_type", kind}});
    const std::string model = read_file(theirs);
    PieceList list = read_pieces(model, theirs);
    const std::string line = testing::sentences(1, 2).front();
    list.pieces.push_back({"\u2581" + line.substr(0, line.find(' ')) + "\u2581", -1e9f, Piece::unused});
    list.pieces.push_back({">>deu<<", 0, Piece::control});
    list.entries += 2;
    write_file_atomically(folder / "more.model", with_pieces(model, list));
    const PieceSplitter before(theirs), after(folder / "more.model");
    for (const std::string& text : {line, ">>deu<< " + line}) EXPECT_EQ(after.split(text), before.split(text));
  }
}

TEST(PieceList, GivesUnknownCharactersTheIdOfAnUnusedPiece) {
  const TemporaryFolder folder;
  const std::string theirs = testing::train_sentencepiece(folder, {{"model_type", "unigram"}});
  PieceList list = read_pieces(read_file(theirs), theirs);
  const auto unused = static_cast<int32_t>(list.entries++);
  list.pieces.push_back({"漢", -1e9f, Piece::unused});
  write_file_atomically(folder / "more.model", with_pieces(read_file(theirs), list));
  const Tokenizer tokenizer(folder / "more.model");
  const auto count = [&](const std::string& text, int32_t id) {
    return std::ranges::count(tokenizer.encode(text), id);
  };
  EXPECT_EQ(count("漢", unused), 1);
  EXPECT_EQ(count("漢字", unused), 0);  // one unknown token
  EXPECT_EQ(count("漢字", 0), 1);
}

TEST(PieceList, SegmentsTextIntoPiecesThatAreNoEntriesButUnknown) {
  const TemporaryFolder folder;
  const std::string theirs = testing::train_sentencepiece(folder, {{"model_type", "unigram"}});
  PieceList list = read_pieces(read_file(theirs), theirs);
  list.entries -= 20;
  write_file_atomically(folder / "fewer.model", with_pieces(read_file(theirs), list));
  const Tokenizer all(theirs), fewer(folder / "fewer.model");
  EXPECT_EQ(fewer.size(), list.entries);
  int64_t unknown = 0;
  for (const std::string& line : testing::sentences(20, 2)) {
    std::vector<int32_t> expected = all.encode(line);
    for (int32_t& id : expected)
      if (id >= list.entries) id = 0, ++unknown;
    EXPECT_EQ(fewer.encode(line), expected);
    EXPECT_EQ(fewer.normalise(line), all.normalise(line));
  }
  EXPECT_GT(unknown, 0);
}

TEST(PieceList, RefusesWhatIsNotAModel) {
  expect_error([] { read_pieces("text\n", "bad.model"); }, ErrorKind::data, {"bad.model"});
  expect_error([] { read_pieces("", "empty.model"); }, ErrorKind::data, {"empty.model"});
}

}  // namespace
}  // namespace weft
