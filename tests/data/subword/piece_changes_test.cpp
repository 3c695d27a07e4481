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
  PieceLists lists{list()};
  const PieceList& pruned = lists.front();
  const auto all = std::ssize(pruned.pieces);
  const int64_t removed = prune(lists, {used});
  EXPECT_GT(removed, 0);
  EXPECT_EQ(std::ssize(pruned.pieces), all - removed);
  EXPECT_EQ(pruned.entries, all - removed);
  const PieceSplitter after(written(pruned));
  for (const std::string& line : lines) EXPECT_EQ(after.split(line), before.split(line));
  const Tokenizer tokenizer(folder_ / "new.model");
  for (const std::string& line : testing::sentences(50, 4)) EXPECT_EQ(tokenizer.decode(tokenizer.encode(line)), line);
}

TEST_P(PieceChanges, AGrownModelHasThePiecesOfBoth) {
  PieceLists lists{list()};
  PieceList& small = lists.front();
  std::unordered_set<std::string> few;
  for (size_t i = 3; i < 20; ++i) few.insert(small.pieces[i].text);
  prune(lists, {few});
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

// The models of both sides share a vocabulary: the second half of the pieces belongs only to the second model.
class PieceChangesOfTwoModels : public PieceChanges {
 protected:
  void SetUp() override {
    PieceChanges::SetUp();
    lists_ = {list(), list()};
    for (size_t id = 45; id < lists_.front().pieces.size(); ++id)
      if (Piece& piece = lists_.front().pieces[id]; piece.text.size() > 1 && piece.type == Piece::normal)
        piece.score = Piece::kOtherSide, piece.type = Piece::unused;
  }
  void expect_equal_entries() const {
    ASSERT_EQ(lists_[0].entries, lists_[1].entries);
    for (size_t id = 0; id < static_cast<size_t>(lists_[0].entries); ++id)
      EXPECT_EQ(lists_[0].pieces[id].text, lists_[1].pieces[id].text);
  }
  PieceLists lists_;
};
INSTANTIATE_TEST_SUITE_P(Kinds, PieceChangesOfTwoModels, ::testing::Values("bpe", "unigram"),
                         [](const auto& info) { return std::string(info.param); });

TEST_P(PieceChangesOfTwoModels, ArePrunedByTheTextsOfEachModel) {
  const std::vector<std::string> texts{testing::sentences(4, 3).front(), testing::sentences(4, 3).back()};
  std::vector<std::unordered_set<std::string>> used;
  std::vector<std::vector<std::string>> before;
  for (size_t i = 0; i < 2; ++i) {
    before.push_back(PieceSplitter(written(lists_[i], fmt::format("{}.model", i))).split(texts[i]));
    used.emplace_back(before[i].begin(), before[i].end());
  }
  EXPECT_GT(prune(lists_, used), 0);
  expect_equal_entries();
  for (size_t i = 0; i < 2; ++i) EXPECT_EQ(PieceSplitter(written(lists_[i])).split(texts[i]), before[i]);
}

TEST_P(PieceChangesOfTwoModels, GrowByThePiecesOfTheOtherSideAndByNewOnes) {
  PieceList other = lists_.back();
  other.pieces.push_back({.text = "\u6F22", .score = -2});
  other.entries += 1;
  const auto others = std::ranges::count_if(lists_.front().pieces, &Piece::is_other_sides);
  ASSERT_GT(others, 0);
  EXPECT_EQ(grow(lists_.front(), other, file_), others + 1);
  append_other_sides(lists_.back(), lists_.front());
  expect_equal_entries();
  EXPECT_EQ(std::ranges::count_if(lists_.front().pieces, &Piece::is_other_sides), 0);
  EXPECT_TRUE(lists_.back().pieces.back().is_other_sides());
  for (const std::string& line : testing::sentences(20, 4))
    EXPECT_EQ(PieceSplitter(written(lists_.front())).split(line), PieceSplitter(file_).split(line));
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
