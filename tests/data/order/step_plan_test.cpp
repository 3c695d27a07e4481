// tests/data/order/step_plan_test.cpp: every grid gives the same steps, and a rank's work does not grow with their
// number.
#include "data/order/step_plan.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "tests/support/errors.h"
#include "tests/support/synthetic_lengths.h"

namespace weft {
namespace {

using testing::numbers_of;
using testing::source_of;
using testing::synthetic_lengths;

constexpr uint64_t kOrderSeed = 3;

BatchConfig config_of(int64_t blocks) {
  BatchConfig config;
  config.rows = config.source_rows = 128;
  config.blocks = blocks;
  config.look_ahead = 16, config.page = 16, config.window = 4;
  return config;
}

class Ranks {  // the plans of all ranks of a grid
 public:
  Ranks(const std::vector<PairLength>& lengths, const BatchConfig& config, int dp, const StepCursor& start = {}) {
    const auto num_pairs = static_cast<int64_t>(lengths.size());
    for (int rank = 0; rank < dp; ++rank)
      plans_.emplace_back(testing::only(num_pairs, source_of(lengths)), config, kOrderSeed, rank, dp, start);
  }
  std::vector<std::vector<int64_t>> step() {  // pairs of its blocks
    std::vector<std::vector<int64_t>> blocks;
    for (StepPlan& plan : plans_)
      for (const PlannedBlock& block : plan.next().blocks) blocks.push_back(numbers_of(block));
    return blocks;
  }
  StepCursor cursor() const {
    StepCursor all = plans_[0].cursor();
    for (const StepPlan& plan : plans_) all.streams.merge(plan.cursor().streams);
    return all;
  }

 private:
  std::vector<StepPlan> plans_;
};

TEST(BlocksOfRank, AreAsEvenAsTheirNumberAllowsAndTheFirstRankHasSome) {
  for (const int64_t blocks : {1, 2, 6, 7, 64})
    for (const int dp : {1, 2, 3, 4, 8, 64}) {
      int64_t next = 0;
      for (int rank = 0; rank < dp; ++rank) {
        const BlockRange own = blocks_of_rank(blocks, rank, dp);
        EXPECT_EQ(own.first, next);
        EXPECT_TRUE(own.count == blocks / dp || own.count == (blocks + dp - 1) / dp) << blocks << " on " << dp;
        next += own.count;
      }
      EXPECT_EQ(next, blocks);
      EXPECT_GE(blocks_of_rank(blocks, 0, dp).count, 1);
    }
}

TEST(StreamsOfRank, AreAllAmongTheRanks) {
  for (const auto& [blocks, streams] : {std::pair<int64_t, int64_t>{8, 8}, {8, 4}, {6, 4}, {3, 1}, {2, 8}}) {
    std::set<int64_t> all;
    for (int rank = 0; rank < 2; ++rank)
      for (const int64_t stream : streams_of_rank(blocks, streams, /*next_stream=*/1 % streams, rank, /*dp_size=*/2))
        all.insert(stream);
    EXPECT_EQ(std::ssize(all), streams) << blocks << " blocks";
  }
}

TEST(StreamsOfRank, AreThoseOfItsBlocks) {
  EXPECT_EQ(streams_of_rank(8, 8, /*next_stream=*/6, /*dp_rank=*/1, /*dp_size=*/4), (std::vector<int64_t>{0, 1}));
  EXPECT_EQ(streams_of_rank(2, 2, 0, /*dp_rank=*/3, /*dp_size=*/4), std::vector<int64_t>{});  // it has no block
}

TEST(StepPlan, HasAStreamForEachBlockUnlessTheCorpusIsTooSmall) {
  const auto streams = [](int64_t num_pages, int64_t blocks) {
    return choose_num_streams(16 * num_pages, config_of(blocks));
  };
  EXPECT_EQ(streams(1000, 6), 6);
  EXPECT_EQ(streams(4 * 1024, 1024), 1024);
  EXPECT_EQ(streams(4 * 1024 - 1, 1024), 512);
  EXPECT_EQ(streams(4 * 7, 12), 6);
  EXPECT_EQ(streams(4 * 6, 7), 1);
  EXPECT_EQ(streams(1, 6), 1);
  BatchConfig far = config_of(8);
  far.look_ahead = 64;
  EXPECT_EQ(choose_num_streams(4 * 64 * 4, far), 4);
}

TEST(StepPlan, GivesTheSameStepsOnEveryGridAndAfterEveryStop) {
  const std::vector<PairLength> lengths = synthetic_lengths(700, 5);
  const BatchConfig config = config_of(6);
  Ranks alone(lengths, config, 1);
  std::unique_ptr<Ranks> moving = std::make_unique<Ranks>(lengths, config, 1);
  for (const int dp : {1, 2, 3, 4, 6, 8, 5, 1}) {
    moving = std::make_unique<Ranks>(lengths, config, dp, moving->cursor());
    for (int i = 0; i < 3; ++i) ASSERT_EQ(moving->step(), alone.step()) << "dp " << dp;
    EXPECT_EQ(moving->cursor(), alone.cursor());
  }
}

TEST(StepPlan, GoesOnWithItsStreamsWhereTheBlocksOfAStepChange) {
  const std::vector<PairLength> lengths = synthetic_lengths(700, 5);
  for (const int64_t before : {1, 4, 6})
    for (const int64_t after : {1, 2, 3, 4, 9}) {
      SCOPED_TRACE(fmt::format("{} blocks, then {}", before, after));
      Ranks run(lengths, config_of(before), 1);
      run.step();
      const StepCursor cursor = run.cursor();
      EXPECT_EQ(cursor.num_streams, before);
      Ranks one(lengths, config_of(after), 1, cursor), three(lengths, config_of(after), 3, cursor);
      std::vector<std::vector<int64_t>> expected;  // of the streams in turn
      for (int64_t i = 0; i < 50; ++i)
        for (std::vector<int64_t>& block : run.step()) expected.push_back(std::move(block));
      size_t next = 0;
      for (int step = 0; step < 5; ++step) {
        const auto blocks = one.step();
        ASSERT_EQ(three.step(), blocks);
        for (const auto& block : blocks) ASSERT_EQ(block, expected.at(next++));
      }
      EXPECT_EQ(one.cursor().num_streams, before);
      EXPECT_EQ(three.cursor(), one.cursor());
    }
}

TEST(StepPlan, OfOneStreamIsTheWholeOrder) {
  const std::vector<PairLength> lengths = synthetic_lengths(500, 6);
  const BatchConfig config = config_of(4);
  MixPlan order(testing::only(500, source_of(lengths)), config, kOrderSeed);
  for (int i = 0; i < 10; ++i) order.next();
  const StepCursor cursor{.num_streams = 1, .next_stream = 0, .streams = {{0, order.cursor()}}};
  Ranks ranks(lengths, config, 2, cursor);
  for (int i = 0; i < 20; ++i)
    for (const std::vector<int64_t>& block : ranks.step()) ASSERT_EQ(block, numbers_of(order.next()));
}

TEST(StepPlan, GivesEachPairOnceAnEpoch) {
  for (const auto& [num_pairs, blocks] : {std::pair{700, 6}, {700, 1}, {60, 7}, {16, 3}, {1003, 4}}) {
    SCOPED_TRACE(fmt::format("{} pairs, {} blocks", num_pairs, blocks));
    const std::vector<PairLength> lengths = synthetic_lengths(num_pairs, 7);
    BatchConfig config = config_of(blocks);
    constexpr int64_t kEpochs = 5;
    std::map<int64_t, std::set<int64_t>> seen;  // by epoch
    for (int64_t stream = 0; stream < blocks; ++stream) {
      PairOrder order(num_pairs, source_of(lengths), {.page = config.page, .window = config.window, .seed = kOrderSeed},
                      {stream, blocks});
      for (int64_t epoch = 0; epoch < kEpochs; ++epoch)
        for (int64_t i = 0; i < order.size(epoch); ++i)
          EXPECT_TRUE(seen[epoch].insert(order.at(epoch, i).pair).second) << "twice";
    }
    for (int64_t epoch = 0; epoch < kEpochs; ++epoch)
      EXPECT_EQ(static_cast<int64_t>(seen[epoch].size()), num_pairs) << "epoch " << epoch;
  }
}

TEST(StepPlan, UsesAllPairsEquallyOften) {
  constexpr int64_t kPairs = 3000, kSteps = 400;
  Ranks ranks(synthetic_lengths(kPairs, 8), config_of(8), 2);
  std::map<int64_t, int64_t> uses;
  int64_t total = 0;
  for (int64_t i = 0; i < kSteps; ++i)
    for (const auto& block : ranks.step())
      for (const int64_t pair : block) ++uses[pair], ++total;
  EXPECT_EQ(static_cast<int64_t>(uses.size()), kPairs);
  for (const auto& [pair, count] : uses) EXPECT_NEAR(static_cast<double>(count), double(total) / kPairs, 2) << pair;
}

// What a step costs a rank is what it plans and reads: with one block for each of any number of ranks, the same.
TEST(StepPlan, CostsARankTheSameWithAnyNumberOfRanks) {
  constexpr int64_t kPairs = 400'000, kSteps = 40;
  const std::vector<PairLength> lengths = synthetic_lengths(kPairs, 9);
  for (const int dp : {1, 4, 16, 64, 256, 1024}) {
    int64_t read = 0;
    const LengthSource counting = [&](int64_t /*epoch*/, int64_t first, int64_t count, std::vector<PairLength>& out) {
      read += count;
      source_of(lengths)(0, first, count, out);
    };
    BatchConfig config;
    config.rows = 4096, config.source_rows = 4096, config.blocks = dp, config.page = 64;
    StepPlan plan(testing::only(kPairs, counting), config, kOrderSeed, /*dp_rank=*/dp / 2, dp);
    int64_t used = 0;
    for (int64_t i = 0; i < kSteps; ++i) used += static_cast<int64_t>(plan.next().blocks.at(0).pairs.size());
    const int64_t window = (config.window + dp - 1) / dp * config.page;
    EXPECT_LE(read, used + config.look_ahead + window) << "dp " << dp;
    EXPECT_EQ(plan.cursor().streams.size(), 1u);
  }
}

TEST(StepPlan, FillsItsBlocksAboveNinetyNinePercent) {
  const std::vector<PairLength> lengths = synthetic_lengths(29000, 1);
  int64_t source = 0, target = 0;
  for (const PairLength& length : lengths) source += length.source + 1, target += length.target + 1;
  BatchConfig config;
  config.rows = 2048, config.source_rows = (source * 2048 / target + 8) / 16 * 16, config.blocks = 64;
  StepPlan plan(testing::only(29000, source_of(lengths)), config, kOrderSeed, 0, 1);
  int64_t source_tokens = 0, target_tokens = 0, blocks = 0;
  for (int i = 0; i < 20; ++i)
    for (const PlannedBlock& block : plan.next().blocks)
      source_tokens += block.source_tokens, target_tokens += block.target_tokens, ++blocks;
  EXPECT_GT(static_cast<double>(source_tokens), 0.998 * static_cast<double>(blocks * config.source_rows));
  EXPECT_GT(static_cast<double>(target_tokens), 0.998 * static_cast<double>(blocks * config.rows));
}

// A run that a later version resumes must keep its order.
TEST(StepPlan, KeepsItsOrderForEver) {
  StepPlan plan(testing::only(500, source_of(synthetic_lengths(500, 5))), config_of(4), 1, 0, 1);
  for (int i = 0; i < 20; ++i) plan.next();
  EXPECT_EQ(numbers_of(plan.next().blocks.at(2)), (std::vector<int64_t>{332, 278, 40, 35, 47, 236, 32, 43, 233, 228}));
}

TEST(StepPlan, RefusesACursorThatCannotBeItsOwn) {
  const std::vector<PairLength> lengths = synthetic_lengths(200, 5);
  Ranks run(lengths, config_of(2), 1);
  StepCursor outside = run.cursor(), lacking = run.cursor();
  outside.next_stream = 2;
  lacking.streams.erase(1);
  testing::expect_error([&] { Ranks(lengths, config_of(2), 1, outside); }, ErrorKind::checkpoint, {"next stream is 2"});
  testing::expect_error([&] { Ranks(lengths, config_of(2), 1, lacking); }, ErrorKind::checkpoint, {"lacks a stream"});
}

}  // namespace
}  // namespace weft
