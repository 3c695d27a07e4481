// tests/trainer/cluster/grid_step_test.cpp: the traffic of a planned step is that of a real one, and its time
// follows the machine.
#include "trainer/cluster/grid_step.h"

#include <gtest/gtest.h>

#include "tests/support/counting_communicator.h"
#include "tests/support/errors.h"
#include "trainer/bench/bench.h"
#include "trainer/bench/synthetic_step.h"
#include "trainer/plan/memory_plan.h"
#include "trainer/trainer.h"

namespace weft::testing {
namespace {

Machine cpu_machine() {
  Machine m;
  m.processor.flops = {1e9}, m.processor.update_bandwidth = {1e9};
  m.processor.lost_to_collectives = {0};
  m.node.ranks = 64, m.node.bandwidth = {1e9};
  return m;
}

RunConfig small_config() {
  RunConfig c;
  c.device = DeviceChoice::cpu;
  c.model.width = 256, c.model.heads = 8, c.model.feed_forward = 1024;  // gradients of more than one bucket
  c.model.encoder_layers = 2, c.model.decoder_layers = 3;
  c.model.source_vocabulary = c.model.target_vocabulary = 4000;
  c.model.tying = Tying::all;
  c.batch.rows = 16, c.batch.blocks = 4;
  c.train.precision = Precision::f32;
  return c;
}

GridStep planned(const RunConfig& config, int dp, int tp, const GradientExchange& exchange = {},
                 const Machine& machine = cpu_machine()) {
  return predict_grid(machine, resolve_grid_config(config, machine, dp, tp, exchange), exchange,
                      /*valid_sentences=*/100);
}

// Rank 0's collectives in a step of the real trainer on thread ranks.
Counts counted(const RunConfig& config, int dp, int tp) {
  Counts result;
  run_thread_ranks(dp * tp, [&](Communicator& threads) {
    set_num_threads(1);
    Counts counts;
    CountingCommunicator world(threads, counts);
    RunConfig mine = config;
    mine.parallel.dp = dp, mine.parallel.tp = tp;
    mine = resolve_bench(mine, world);
    const Mesh mesh(world, mine.parallel);
    Trainer trainer(mine, mesh);
    const Step data = synthetic_step(mine, mesh.dp().rank(), mesh.dp().size());
    trainer.step_on(data, /*lr=*/0);  // a sharded optimizer gathers weights after its first update
    counts.clear();
    trainer.step_on(data, /*lr=*/0);
    if (threads.rank() == 0) result = counts;
  });
  return result;
}

// The mesh splits the dp group first, then the tp group.
void expect_counted_traffic(const RunConfig& config, int dp, int tp) {
  Counts counts = counted(config, dp, tp);
  const Traffic t = planned(config, dp, tp, exchange_of(config.parallel)).traffic;
  const auto total = [&](const std::string& group, const std::vector<std::string>& collectives) {
    Counted sum;
    for (const std::string& collective : collectives) {
      const Counted& one = counts[group + " " + collective];
      sum.calls += one.calls, sum.bytes += one.bytes;
    }
    return sum;
  };
  const Counted gradients = total("0", {"all_reduce", "reduce_scatter", "all_to_all"}),
                weights = total("0", {"all_gather"}), updates = total("0", {"all_gather_v"});
  EXPECT_EQ(t.dp_collectives, gradients.calls + weights.calls + updates.calls) << dp << " x " << tp;
  EXPECT_EQ(t.gradient_bytes, gradients.bytes) << dp << " x " << tp;
  EXPECT_EQ(t.weight_bytes, dp * weights.bytes + updates.bytes) << dp << " x " << tp;
  EXPECT_EQ((Counted{t.tp_sums, t.tp_bytes}), total("1", {"all_reduce", "all_gather", "reduce_scatter"}))
      << dp << " x " << tp;
  EXPECT_EQ(counts["world all_gather"].calls, 1);
  EXPECT_EQ(t.exchanged_bytes, dp * tp * counts["world all_gather"].bytes);
}

TEST(GridStep, HasTheCollectivesAndBytesOfARealStep) {
  for (const auto& [dp, tp] : {std::pair{1, 1}, {2, 1}, {4, 1}, {1, 2}, {2, 2}, {1, 4}})
    expect_counted_traffic(small_config(), dp, tp);
}

TEST(GridStep, HasTheTrafficOfHalfPrecisionAndOtherModels) {
  RunConfig c = small_config();
  c.train.precision = Precision::bf16;
  expect_counted_traffic(c, 2, 2);
  c.model.kv_heads = 4, c.model.tying = Tying::none, c.model.norm = NormPosition::pre;
  c.model.activation = FeedForwardActivation::swiglu;
  expect_counted_traffic(c, 2, 2);
  c.train.recompute = true;
  expect_counted_traffic(c, 1, 2);
}

TEST(GridStep, HasTheTrafficOfAShardedOptimizer) {
  RunConfig c = small_config();
  c.parallel.zero = 1;
  expect_counted_traffic(c, 2, 1);
  expect_counted_traffic(c, 4, 1);
  c.train.precision = Precision::bf16, c.parallel.gradient_type = GradientType::bf16;
  expect_counted_traffic(c, 2, 2);
}

TEST(GridStep, HasTheTrafficOfMuon) {
  RunConfig c = small_config();
  c.optimizer.kind = OptimizerKind::muon;
  expect_counted_traffic(c, 1, 1);
  expect_counted_traffic(c, 2, 2);
  c.train.precision = Precision::bf16;
  expect_counted_traffic(c, 4, 1);
}

// Between 64 ranks the 45 matrices are on 45 ranks at most, which CPUs send one after the other.
TEST(GridStep, SendsTheUpdatesOfMuonAsTheDeviceDoes) {
  RunConfig c = small_config();
  c.optimizer.kind = OptimizerKind::muon;
  const auto seconds_of_latencies = [&](Machine m) {
    m.processor.precision = Precision::f32;
    const double without = planned(c, 64, 1, {}, m).seconds.optimizer;
    m.node.latency = {1};
    return planned(c, 64, 1, {}, m).seconds.optimizer - without;
  };
  Machine m = cpu_machine();
  const double parts = seconds_of_latencies(m);
  EXPECT_GE(parts, 15);
  EXPECT_LE(parts, 45 + 1e-6);
  m.processor.memory = {80e9};  // a GPU's
  EXPECT_NEAR(seconds_of_latencies(m), 1, 1e-6);
}

TEST(GridStep, HasTheTrafficOfSplitRows) {
  RunConfig c = small_config();
  c.parallel.sequence = true;
  expect_counted_traffic(c, 1, 2);
  c.train.precision = Precision::bf16, c.parallel.zero = 1;
  expect_counted_traffic(c, 2, 2);
}

TEST(GridStep, SendsTwiceTheGradientsAndAsMuchForASharded) {
  const GridStep whole = planned(small_config(), 4, 1);
  const auto gradients = static_cast<double>(4 * whole.parameters);
  EXPECT_DOUBLE_EQ(whole.traffic.gradient_bytes, gradients);
  EXPECT_DOUBLE_EQ(whole.traffic.sent_bytes, 2 * 0.75 * gradients);
  EXPECT_NEAR(planned(small_config(), 4, 1, {.sharded = true}).traffic.sent_bytes, 2 * 0.75 * gradients, 1e4);
}

TEST(GridStep, OfAShardedOptimizerUpdatesAShareWithTheMomentsOfAShare) {
  const GridStep whole = planned(small_config(), 4, 1), sharded = planned(small_config(), 4, 1, {.sharded = true});
  EXPECT_LT(sharded.seconds.optimizer, 0.5 * whole.seconds.optimizer);
  const double shared = 8.0 * static_cast<double>(whole.parameters) * 3 / 4;
  EXPECT_NEAR(static_cast<double>(whole.memory - sharded.memory), shared, 0.05 * shared);  // vectors are whole
}

// tests/memory/run compares the sum with the plan of a run.
TEST(GridStep, OnCpusHasTheMemoryOfMessagesSavesDataAndTheProgramToo) {
  const GridStep alone = planned(small_config(), 1, 1), two = planned(small_config(), 2, 1);
  const auto tensors = [](const GridStep& g) {
    const auto world = make_single_communicator();
    return plan_tensors(g.config, TensorParallel(*world), Device::cpu).tensors();
  };
  const auto parameters = static_cast<size_t>(alone.parameters);
  constexpr size_t kMiB = 1 << 20, kLeastProgram = 30 * kMiB;
  EXPECT_GT(alone.memory, tensors(alone) + 12 * parameters + kLeastProgram);            // three numbers of a save
  EXPECT_GT(two.memory, tensors(two) + (12 / 2 + 4 / 2) * parameters + kLeastProgram);  // half of it; received sums
  RunConfig validated = small_config();
  validated.data.valid = "valid", validated.train.validate_every = 1;
  EXPECT_GT(planned(validated, 1, 1).memory, alone.memory);
}

TEST(GridStep, ComputesAsLongAsTheRankWithMostBlocks) {
  RunConfig c = small_config();
  const double four = planned(c, 1, 1).seconds.compute;
  EXPECT_DOUBLE_EQ(planned(c, 2, 1).seconds.compute, four / 2);
  EXPECT_DOUBLE_EQ(planned(c, 3, 1).seconds.compute, four / 2);  // 2, 1 and 1 blocks
  EXPECT_DOUBLE_EQ(planned(c, 8, 1).seconds.compute, four / 4);  // four ranks have none
}

TEST(GridStep, OfRanksThatShareCoresIsSlower) {
  Machine m = cpu_machine();
  const double alone = planned(small_config(), 4, 1, {}, m).seconds.compute;
  m.node.cores = 2;
  EXPECT_DOUBLE_EQ(planned(small_config(), 4, 1, {}, m).seconds.compute, 2 * alone);
  EXPECT_DOUBLE_EQ(planned(small_config(), 2, 1, {}, m).seconds.compute, 2 * alone);  // twice the blocks
}

// If 3 ranks share 4 blocks, one rank has two and computes the second one alone.
TEST(GridStep, ComputesFasterWhereOtherRanksHaveNoMoreBlocks) {
  Machine m = cpu_machine();
  const double block = planned(small_config(), 4, 1, {}, m).seconds.compute;
  m.node.cores = 2;
  EXPECT_NEAR(planned(small_config(), 3, 1, {}, m).seconds.compute, (1.5 + 1) * block, 1e-9 * block);
}

TEST(GridStep, HidesNothingWhereCollectivesTakeTheCores) {
  Machine m = cpu_machine();
  m.processor.lost_to_collectives = {1};
  const GridStep grid = planned(small_config(), 4, 1, {}, m);
  EXPECT_NEAR(grid.seconds.exposed + grid.seconds.slowed, grid.exchange_seconds, 1e-9);
}

TEST(GridStep, WaitsForThePlannerIfThatIsSlower) {
  Machine m = cpu_machine();
  m.processor.planner = {1e3};  // of 4,096 rows
  EXPECT_DOUBLE_EQ(planned(small_config(), 4, 1, {}, m).seconds.step(), 1e3 * 16 / 4096);
}

TEST(GridStep, RefusesAPrecisionThatTheRatesAreNotOf) {
  Machine m = cpu_machine();
  m.processor.precision = Precision::bf16;
  EXPECT_TRUE(holds(refusal_of(ErrorKind::usage, [&] { planned(small_config(), 1, 1, {}, m); }),
                    "the rates of this machine were measured in bf16, but train.precision is f32"));
}

// A save of 1 GB/s takes longer than the steps until the next one.
TEST(GridStep, WaitsForSavesThatFollowEachOtherTooSoon) {
  RunConfig c = small_config();
  c.train.save_every = 1;
  Machine m = cpu_machine();
  m.disk.bandwidth = {1e6};
  const GridStep grid = planned(c, 4, 1, {}, m);
  EXPECT_NEAR(grid.seconds.step() + grid.seconds.saves, 12 * static_cast<double>(grid.parameters) / 1e6, 1e-9);
  c.train.save_every = 0;
  EXPECT_EQ(planned(c, 4, 1, {}, m).seconds.saves, 0);
}

}  // namespace
}  // namespace weft::testing
