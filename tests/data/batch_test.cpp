// tests/data/batch_test.cpp: layout of pairs in a block.
#include "data/batch.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

using Ids = std::vector<int32_t>;

Block two_pairs() {
  BlockBuilder builder(8, 10);
  builder.add(Ids{10, 11}, Ids{20, 21, 22});
  builder.add(Ids{12, 13, 14}, Ids{23});
  return builder.finish(3);
}

TEST(BlockBuilder, EndsEachSourceWithEos) {
  const Block block = two_pairs();
  EXPECT_EQ(block.source, (Ids{10, 11, 2, 12, 13, 14, 2, 0}));
  EXPECT_EQ(block.source_positions, (Ids{0, 1, 2, 0, 1, 2, 3, 0}));
  EXPECT_EQ(block.source_offsets, (Ids{0, 3, 7}));
}

TEST(BlockBuilder, ShiftsTheTargetByOne) {
  const Block block = two_pairs();
  EXPECT_EQ(block.target_in, (Ids{1, 20, 21, 22, 1, 23, 0, 0, 0, 0}));
  EXPECT_EQ(block.target_out, (Ids{20, 21, 22, 2, 23, 2, -1, -1, -1, -1}));
  EXPECT_EQ(block.target_positions, (Ids{0, 1, 2, 3, 0, 1, 0, 0, 0, 0}));
  EXPECT_EQ(block.target_offsets, (Ids{0, 4, 6}));
}

TEST(BlockBuilder, CountsSentencesAndRealRows) {
  const Block block = two_pairs();
  EXPECT_EQ(block.index, 3);
  EXPECT_EQ(block.num_sentences(), 2);
  EXPECT_EQ(block.source_tokens(), 7);
  EXPECT_EQ(block.target_tokens(), 6);
}

TEST(BlockBuilder, GivesEachTargetRowTheWeightOfItsPair) {
  BlockBuilder builder(8, 8, /*weighted=*/true);
  builder.add(Ids{10, 11}, Ids{20, 21, 22}, {}, 0.25f);
  builder.add(Ids{12, 13, 14}, Ids{23}, {}, 3);
  const Block block = builder.finish(0);
  EXPECT_EQ(block.weights, (std::vector<float>{0.25f, 0.25f, 0.25f, 0.25f, 3, 3, 0, 0}));
  EXPECT_EQ(block.target_weight(0), 1);
  EXPECT_EQ(block.target_weight(1), 6);
  EXPECT_EQ(block.target_weight(), 7);
  EXPECT_EQ(builder.finish(1).weights, std::vector<float>(8));
}

TEST(BlockBuilder, WithoutWeightsTokensWeighOne) {
  EXPECT_TRUE(two_pairs().weights.empty());
  EXPECT_EQ(two_pairs().target_weight(0), 4);
  EXPECT_EQ(two_pairs().target_weight(), 6);
}

TEST(BlockBuilder, BeginsAnEmptyBlockAfterFinish) {
  BlockBuilder builder(3, 2);
  builder.add(Ids{10, 11}, Ids{20});
  builder.finish(0);
  const Block block = builder.finish(1);
  EXPECT_EQ(block.num_sentences(), 0);
  EXPECT_EQ(block.source, (Ids{0, 0, 0}));
  EXPECT_EQ(block.target_in, (Ids{0, 0}));
  EXPECT_EQ(block.target_out, (Ids{-1, -1}));
}

TEST(BlockBuilder, TakesAPairThatFillsItExactly) {
  BlockBuilder builder(3, 2);
  builder.add(Ids{10, 11}, Ids{20});
  const Block block = builder.finish(0);
  EXPECT_EQ(block.source, (Ids{10, 11, 2}));
  EXPECT_EQ(block.target_out, (Ids{20, 2}));
}

TEST(BlockBuilder, KeepsEmptySidesAsEosAlone) {
  BlockBuilder builder(2, 2);
  builder.add(Ids{}, Ids{});
  const Block block = builder.finish(0);
  EXPECT_EQ(block.source, (Ids{2, 0}));
  EXPECT_EQ(block.target_in, (Ids{1, 0}));
  EXPECT_EQ(block.target_out, (Ids{2, -1}));
}

}  // namespace
}  // namespace weft
