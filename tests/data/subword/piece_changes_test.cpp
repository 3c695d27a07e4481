// tests/data/subword/piece_changes_test.cpp: vocabularies that grow and shrink, and the old pieces of new entries.
#include "data/subword/piece_changes.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "data/subword/piece_splitter.h"
#include "data/tokenizer.h"
#include "tests/data/sentencepiece_model.h"

namespace weft {
namespace {

using testing::expect_error;
using testing::TemporaryFolder;

class PieceChanges : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    file_ = testing::train_sentencepiece(
        folder_, {{"model_type", GetParam()}, {"vocab_size", "90"}, {"unk_id", "0"}, {"bos_id", "1"}, {"eos_id", "2"}});
    model_ = read_file(file_);
  }
  PieceList list() const { return read_pieces(model_, file_); }
  std::string written(const PieceList& list, const std::string& name = "new.model") const {
    write_file_atomically(folder_ / name, with_pieces(model_, list));
    return folder_ / name;
  }

  const TemporaryFolder folder_;
  std::string file_, model_;
};
INSTANTIATE_TEST_SUITE_P(Kinds, PieceChanges, ::testing::Values("bpe", "unigram"),
                         [](const auto& info) { return std::string(info.param); });

TEST_P(PieceChanges, PrunedModelsSegmentTheTextAsBefore) {
  const auto lines = testing::sentences(4, 3);
  const PieceSplitter before(file_);
  std::unordered_set<std::string> used;
  for (const std::string& line : lines)
    for (const std::string& piece : before.split(line)) used.insert(piece);
  PieceList pruned = list();
  const auto all = std::ssize(pruned.pieces);
  const int64_t removed = prune(pruned, used);
  EXPECT_GT(removed, 0);
  EXPECT_EQ(std::ssize(pruned.pieces), all - removed);
  EXPECT_EQ(pruned.entries, all - removed);
  const PieceSplitter after(written(pruned));
  for (const std::string& line : lines) EXPECT_EQ(after.split(line), before.split(line));
  const Tokenizer tokenizer(folder_ / "new.model");
  for (const std::string& line : testing::sentences(50, 4)) EXPECT_EQ(tokenizer.decode(tokenizer.encode(line)), line);
}

TEST_P(PieceChanges, AGrownModelHasThePiecesOfBoth) {
  PieceList small = list();
  std::unordered_set<std::string> few;
  for (size_t i = 3; i < 20; ++i) few.insert(small.pieces[i].text);
  prune(small, few);
  const auto before = small.entries;
  const int64_t added = grow(small, list(), file_);
  EXPECT_GT(added, 0);
  EXPECT_EQ(small.entries, before + added);
  EXPECT_EQ(grow(small, list(), file_), 0);
  std::unordered_set<std::string> texts;
  for (const Piece& piece : small.pieces) EXPECT_TRUE(texts.insert(piece.text).second) << piece.text;
  for (const Piece& piece : list().pieces) EXPECT_TRUE(texts.contains(piece.text)) << piece.text;
  const Tokenizer tokenizer(written(small));
  for (const std::string& line : testing::sentences(20, 4)) EXPECT_EQ(tokenizer.decode(tokenizer.encode(line)), line);
}

// A piece that only segments text, and stands for unknown, becomes an entry.
TEST_P(PieceChanges, PiecesBeyondTheEntriesBecomeEntries) {
  PieceList imported = list();
  imported.entries -= 5;
  const auto all = imported.pieces.size();
  EXPECT_EQ(grow(imported, list(), file_), 5);
  EXPECT_EQ(imported.pieces.size(), all);
  EXPECT_EQ(imported.entries, std::ssize(imported.pieces));
}

TEST_P(PieceChanges, NewEntriesConsistOfTheirOldPieces) {
  const PieceList old = list();
  PieceList grown = old;
  PieceList other{.pieces = {{.text = "\u2581" + old.pieces[10].text + old.pieces[12].text, .score = -1},
                             {.text = "\u6F22", .score = -2}},
                  .kind = old.kind,
                  .entries = 2};
  ASSERT_EQ(grow(grown, other, "other"), 2);
  add_tag(grown, "dan_Latn");
  const EntryOrigins origins = origins_of(grown, {file_}, {{"dan_Latn", old.pieces[5].text}});
  EXPECT_EQ(origins.kept, old.entries + 1);  // with the tag
  EXPECT_EQ(origins.composed, 1);
  EXPECT_EQ(origins.unknown, 1);
  for (int64_t id = 0; id < old.entries; ++id)
    EXPECT_EQ(origins.of_entry[static_cast<size_t>(id)], std::vector<int64_t>{id});
  std::string spelled;
  for (const int64_t id : origins.of_entry[static_cast<size_t>(old.entries)])
    spelled += old.pieces[static_cast<size_t>(id)].text;
  EXPECT_EQ(spelled, other.pieces[0].text);
  EXPECT_TRUE(origins.of_entry[static_cast<size_t>(old.entries) + 1].empty());
  EXPECT_EQ(origins.of_entry.back(), std::vector<int64_t>{5});
}

TEST(PieceChange, IsRefusedForModelsOfDifferentKindsAndForOldTags) {
  PieceList bpe{.pieces = {{.text = "<unk>", .type = Piece::unknown}}, .kind = PieceList::bpe, .entries = 1};
  const PieceList unigram{.pieces = {}, .kind = PieceList::unigram};
  expect_error([&] { grow(bpe, unigram, "other.model"); }, ErrorKind::usage,
               {"other.model is a unigram model, but the model's tokenizer is a BPE model"});
  add_tag(bpe, "<2da>");
  expect_error([&] { add_tag(bpe, "<2da>"); }, ErrorKind::usage, {"the vocabulary already has an entry '<2da>'"});
}

}  // namespace
}  // namespace weft
