// tests/data/subword/piece_splitter_test.cpp: pieces of SentencePiece models, also of models that Weft cannot train
// with.
#include "data/subword/piece_splitter.h"

#include <gtest/gtest.h>

#include "data/tokenizer.h"
#include "tests/data/sentencepiece_model.h"

namespace weft {
namespace {

using testing::expect_error;
using testing::TemporaryFolder;

TEST(PieceSplitter, GivesThePiecesOfTheTokenizer) {
  const Tokenizer tokenizer(testing::small_tokenizer());
  const PieceSplitter splitter(testing::small_tokenizer());
  for (const std::string& line : testing::sentences(20, 2)) {
    std::vector<std::string> pieces;
    for (const int32_t id : tokenizer.encode(line)) pieces.push_back(tokenizer.piece(id));
    EXPECT_EQ(splitter.split(line), pieces);
  }
}

TEST(PieceSplitter, AcceptsOtherSpecialIdsAndKeepsUnknownCharacters) {
  const TemporaryFolder folder;
  const PieceSplitter splitter(testing::train_sentencepiece(
      folder, {{"bos_id", "0"}, {"eos_id", "1"}, {"unk_id", "2"}, {"byte_fallback", "false"}}));
  EXPECT_EQ(splitter.split("漢"), (std::vector<std::string>{"▁", "漢"}));
}

TEST(PieceSplitter, RefusesWhatIsNotAModel) {
  const TemporaryFolder folder;
  write_file_atomically(folder / "bad.model", "text\n");
  expect_error([&] { PieceSplitter splitter(folder / "bad.model"); }, ErrorKind::data, {"bad.model"});
}

}  // namespace
}  // namespace weft
