// tests/trainer/bench/synthetic_step_test.cpp: synthetic sentences have realistic lengths, fill their blocks
// and are divided among ranks as by a loader.
#include "trainer/bench/synthetic_step.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace weft::testing {
namespace {

RunConfig synthetic_config(int64_t rows = 512, int64_t blocks = 4) {
  RunConfig c;
  c.model.source_vocabulary = 500, c.model.target_vocabulary = 700;
  c.batch.rows = c.batch.source_rows = rows, c.batch.blocks = blocks;
  return c;
}

TEST(SyntheticStep, HasLengthsLikeThoseOfNews) {
  constexpr int kPairs = 20000;
  double source = 0, target = 0;
  int longest = 0, off = 0;
  for (int i = 0; i < kPairs; ++i) {
    const PairLength length = synthetic_length(1, i, 128);
    ASSERT_GE(std::min(length.source, length.target), 1);
    source += length.source, target += length.target;
    longest = std::max({longest, length.source, length.target});
    off += std::abs(std::log(static_cast<double>(length.target) / length.source)) > 0.45;  // three spreads
  }
  EXPECT_NEAR(source / kPairs, 27, 0.5);
  EXPECT_NEAR(target / kPairs, 27, 0.7);
  EXPECT_EQ(longest, 128);
  EXPECT_LT(off, kPairs / 50);
}

TEST(SyntheticStep, FillsItsBlocks) {
  const Step step = synthetic_step(synthetic_config(), 0, 1);
  ASSERT_EQ(step.blocks.size(), 4u);
  EXPECT_GT(static_cast<double>(step.source_tokens() + step.target_tokens()), 0.97 * 4 * 2 * 512);
}

TEST(SyntheticStep, HasPiecesOfTheVocabularyTheFrequentOnesFirst) {
  const RunConfig c = synthetic_config();
  std::vector<int> counts(700);
  for (const Block& block : synthetic_step(c, 0, 1).blocks) {
    for (const int32_t id : block.source) ASSERT_TRUE(id >= 0 && id < 500) << id;
    for (const int32_t id : block.target_out) {
      ASSERT_TRUE(id >= -1 && id < 700) << id;
      if (id >= 3) ++counts[static_cast<size_t>(id)];
    }
  }
  EXPECT_GT(std::set<int>(counts.begin(), counts.end()).size(), 5u);
  EXPECT_EQ(std::max_element(counts.begin(), counts.end()) - counts.begin(), 3);
}

TEST(SyntheticStep, IsTheSameDividedAmongRanks) {
  const RunConfig c = synthetic_config();
  const Step whole = synthetic_step(c, 0, 1), second = synthetic_step(c, 1, 2);
  ASSERT_EQ(second.blocks.size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(second.blocks[i].index, static_cast<int64_t>(i) + 2);
    EXPECT_EQ(second.blocks[i].target_out, whole.blocks[i + 2].target_out);
  }
}

TEST(SyntheticStep, FitsBlocksAndPositionsShorterThanASentence) {
  RunConfig narrow = synthetic_config(8, 2), learned = synthetic_config();
  learned.model.positions = Positions::learned, learned.model.max_positions = 10;
  EXPECT_GT(synthetic_step(narrow, 0, 1).target_tokens(), 0);
  for (const Block& block : synthetic_step(learned, 0, 1).blocks)
    EXPECT_LT(*std::max_element(block.target_positions.begin(), block.target_positions.end()), 10);
}

}  // namespace
}  // namespace weft::testing
