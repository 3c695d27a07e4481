// tests/trainer/sharded_optimizer_test.cpp: parallel.zero changes where numbers are kept, and none of them.
#include <gtest/gtest.h>

#include "tests/support/small_run.h"
#include "trainer/precision.h"

namespace weft::testing {
namespace {

const TextCorpus& sharded_corpus() {
  static const TextCorpus text(/*num_pairs=*/300);
  return text;
}

int sharded_steps() { return all_or_few(12, 3); }

// Muon needs whole matrices.
class ShardedOptimizer : public ::testing::TestWithParam<std::tuple<Precision, OptimizerKind>> {
 protected:
  static Part part(int dp, int tp, int steps) {
    const auto& [precision, kind] = GetParam();
    return {.dp = dp, .tp = tp, .steps = steps, .precision = precision, .clip_norm = 0, .optimizer = kind};
  }
};
INSTANTIATE_TEST_SUITE_P(Training, ShardedOptimizer,
                         ::testing::Combine(::testing::Values(Precision::f32, Precision::bf16, Precision::f16),
                                            ::testing::Values(OptimizerKind::adam, OptimizerKind::schedule_free,
                                                              OptimizerKind::lion)),
                         [](const auto& info) {
                           return fmt::format("{}_{}", name_of_enum(std::get<1>(info.param)),
                                              name_of(storage_of(std::get<0>(info.param))));
                         });

// Only the norm of the gradient is added up in another order: without clipping every bit is the same.
TEST_P(ShardedOptimizer, TrainsTheSameBits) {
  for (const auto& [dp, tp] : {std::pair{2, 1}, {3, 1}, {2, 2}}) {
    SCOPED_TRACE(fmt::format("dp {} x tp {}", dp, tp));
    Part all = part(dp, tp, sharded_steps());
    const Trained whole = train(sharded_corpus(), all);
    all.zero = 1;
    const Trained sharded = train(sharded_corpus(), all);
    EXPECT_EQ(sharded.losses, whole.losses);
    EXPECT_EQ(sharded.params, whole.params);
  }
}

TEST_P(ShardedOptimizer, ResumesOnEveryGridWithOrWithoutShards) {
  const int n = sharded_steps();
  const Trained whole = train(sharded_corpus(), part(2, 1, 2 * n));
  for (const int64_t before : {0, 1})
    for (const int64_t after : {0, 1}) {
      SCOPED_TRACE(fmt::format("parallel.zero {} then {}", before, after));
      const TemporaryFolder folder;
      const std::string at_n = folder / fmt::format("step-{:08}", n);
      Part half = part(2, 1, n);
      half.to = folder.path(), half.zero = before;
      train(sharded_corpus(), half);
      half.from = at_n, half.to = "", half.zero = after;
      const Trained rest = train(sharded_corpus(), half);
      EXPECT_EQ(rest.losses, std::vector<double>(whole.losses.begin() + n, whole.losses.end()));
      EXPECT_EQ(rest.params, whole.params);
    }
}

TEST_P(ShardedOptimizer, LeavesEqualReplicas) {
  run_thread_ranks(4, [](Communicator& world) {
    RunConfig config = run_config(sharded_corpus());
    config.parallel = {.dp = 2, .tp = 2, .zero = 1};
    config.train.check_replicas = 1;
    std::tie(config.train.precision, config.optimizer.kind) = GetParam();
    config.schedule.kind = ScheduleKind::constant;
    config = resolved(config, world.size());
    const Mesh mesh(world, config.parallel, test_rank(world));
    SmallRun run(config, mesh);
    for (int i = 0; i < 2; ++i) EXPECT_NO_THROW(run.step());
  });
}

TEST(ShardedOptimizer, GoesOnOnAnotherGrid) {
  const TemporaryFolder folder;
  const int half = sharded_steps() / 2;
  const std::string at_half = folder / fmt::format("step-{:08}", half);
  const Trained whole = train(sharded_corpus(), {.steps = 2 * half});
  train(sharded_corpus(), {.dp = 3, .steps = half, .to = folder.path(), .zero = 1});
  const Part rest{.dp = 2, .tp = 2, .steps = half, .from = at_half, .zero = 1};
  expect_equal_to_rounding(train(sharded_corpus(), rest), whole, static_cast<size_t>(half));
}

TEST(ShardedOptimizer, ClipsByTheNormOfTheWholeGradient) {
  const Part part{.dp = 2, .tp = 2, .steps = sharded_steps(), .zero = 1, .clip_norm = 0.05};
  expect_equal_to_rounding(train(sharded_corpus(), part),
                           train(sharded_corpus(), {.steps = sharded_steps(), .clip_norm = 0.05}));
}

// Each rank's gradients are rounded to 8 bits of precision; their sum is not.
TEST(ShardedOptimizer, RoundedGradientsHardlyChangeTheLosses) {
  const int steps = all_or_few(60, 10);
  Part part{.dp = 4, .steps = steps, .zero = 1};
  const Trained exact = train(sharded_corpus(), part);
  part.gradient_type = GradientType::bf16;
  const Trained rounded = train(sharded_corpus(), part);
  expect_within(0.002, rounded.losses, exact.losses);
  EXPECT_NE(rounded.losses, exact.losses);
}

}  // namespace
}  // namespace weft::testing
