// tests/trainer/step/step_limits_test.cpp: the roofline of made-up machines, and the rates of this one.
#include "trainer/step/step_limits.h"

#include <gtest/gtest.h>

#include "parallel/planned_group.h"
#include "trainer/bench/bench.h"
#include "trainer/step/data_sheets.h"
#include "trainer/trainer.h"

namespace weft::testing {
namespace {

OpTrace::Op made_up_op(const char* name, const OpCost& cost, DType type) {
  return {.name = name, .cost = cost, .operands = {{"a", Tensor(nullptr, {1}, type), false}}, .again = {}};
}

RunConfig roofline_config(int64_t dp, int64_t blocks) {
  RunConfig c;
  c.device = DeviceChoice::cpu;
  c.model.width = 16, c.model.heads = 2, c.model.feed_forward = 32;
  c.model.encoder_layers = c.model.decoder_layers = 1;
  c.model.source_vocabulary = c.model.target_vocabulary = 50;
  c.batch.rows = 64, c.batch.blocks = blocks, c.parallel.dp = dp;
  c.train.precision = Precision::f32;
  return resolve_bench(c, *make_planned_group(static_cast<int>(dp)));
}

double least_seconds(int64_t dp, int64_t blocks, const ProcessorRates& rates) {
  return roofline_of_step(roofline_config(dp, blocks), Device::cpu, rates);
}

TEST(Roofline, IsTheSlowerOfOperationsAndBytesOfEachOp) {
  const std::vector<OpTrace::Op> ops{made_up_op("gemm", {.bytes = 30, .flops = 800}, DType::bf16),
                                     made_up_op("gemm", {.bytes = 50, .flops = 200}, DType::f32),
                                     made_up_op("add", {.bytes = 70}, DType::f32),
                                     made_up_op(kTpAllReduce, {.bytes = 1000}, DType::f32)};
  EXPECT_DOUBLE_EQ(roofline_seconds(ops, {.flops = 100, .bandwidth = 10}), 8 + 5 + 7);
  EXPECT_DOUBLE_EQ(roofline_seconds(ops, {.flops = 100, .f32_flops = 20, .bandwidth = 10}), 8 + 10 + 7);
}

TEST(Roofline, OfAStepIsThatOfTheRankWithMostBlocks) {
  const ProcessorRates rates{.flops = 1e9, .bandwidth = 1e9};
  const double one = least_seconds(1, 1, rates), block = least_seconds(1, 2, rates) - one;
  EXPECT_NEAR(least_seconds(1, 4, rates), one + 3 * block, 1e-12);
  EXPECT_NEAR(least_seconds(3, 4, rates), one + block, 1e-12);
  EXPECT_GT(one, block);
}

TEST(Roofline, IsNotKnownWithoutBothRates) {
  EXPECT_EQ(least_seconds(1, 1, {.flops = 1e9}), 0);
  EXPECT_EQ(least_seconds(1, 1, {.bandwidth = 1e9}), 0);
}

TEST(Roofline, HasTheBandwidthsOfDataSheets) {
  EXPECT_EQ(data_sheet_of("NVIDIA H200").bandwidth, 4.8e12);
  EXPECT_EQ(data_sheet_of("NVIDIA H100 80GB HBM3").bandwidth, 3.35e12);
  EXPECT_EQ(data_sheet_of("NVIDIA A100-SXM4-80GB").bandwidth, 2.039e12);
  EXPECT_EQ(data_sheet_of("NVIDIA A100-SXM4-40GB").bandwidth, 1.555e12);
  EXPECT_EQ(data_sheet_of("Emulated device").bandwidth, 0);
}

// Returns the limits of two ranks, with the rates given to each or measured.
StepLimits limits_of_two_ranks(double peak_flops, double memory_bandwidth) {
  StepLimits result;
  run_thread_ranks(2, [&](Communicator& world) {
    RunConfig c = roofline_config(2, 2);
    c.train.peak_flops = peak_flops, c.train.memory_bandwidth = memory_bandwidth;
    const Mesh mesh(world, c.parallel);
    Trainer trainer(c, mesh);
    const StepLimits mine = limits_of_step(c, trainer.pass(/*training=*/true), mesh);
    EXPECT_EQ(mine.seconds, world.sum(mine.seconds) / 2);
    if (world.is_main_rank()) result = mine;
  });
  return result;
}

TEST(Roofline, HasTheGivenRatesOfEachRank) {
  const StepLimits given = limits_of_two_ranks(1e9, 1e8);
  EXPECT_EQ(given.flops, 2e9);
  EXPECT_EQ(given.seconds, least_seconds(2, 2, {.flops = 1e9, .bandwidth = 1e8}));
}

TEST(Roofline, MeasuresRatesThatAreNotGiven) {
  EXPECT_GT(limits_of_two_ranks(0, 1e8).flops, 0);
  const double seconds = limits_of_two_ranks(1e15, 0).seconds;
  EXPECT_GT(seconds, least_seconds(2, 2, {.flops = 1e15, .bandwidth = 1e13}));
  EXPECT_LT(seconds, least_seconds(2, 2, {.flops = 1e15, .bandwidth = 1e6}));
}

}  // namespace
}  // namespace weft::testing
