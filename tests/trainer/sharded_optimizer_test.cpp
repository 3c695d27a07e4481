// tests/trainer/sharded_optimizer_test.cpp: parallel.zero changes where numbers are kept, and none of them.
#include <gtest/gtest.h>

#include "tests/support/small_run.h"
#include "trainer/plan/precision.h"

namespace weft::testing {
namespace {

const TextCorpus& sharded_corpus() {
  static const TextCorpus text(/*num_pairs=*/300);
  return text;
}

int sharded_steps() { return all_or_few(12, 3); }

class ShardedOptimizer : public ::testing::TestWithParam<Precision> {};
INSTANTIATE_TEST_SUITE_P(Training, ShardedOptimizer, ::testing::Values(Precision::f32, Precision::bf16, Precision::f16),
                         [](const auto& info) { return std::string(name_of(storage_of(info.param))); });

// Only the norm of the gradient is added up in another order: without clipping every bit is the same.
TEST_P(ShardedOptimizer, TrainsTheSameBits) {
  for (const auto& [dp, tp] : {std::pair{2, 1}, {3, 1}, {2, 2}}) {
    SCOPED_TRACE(fmt::format("dp {} x tp {}", dp, tp));
    Part part{.dp = dp, .tp = tp, .steps = sharded_steps(), .precision = GetParam(), .clip_norm = 0};
    const Trained whole = train(sharded_corpus(), part);
    part.zero = 1;
    const Trained sharded = train(sharded_corpus(), part);
    EXPECT_EQ(sharded.losses, whole.losses);
    EXPECT_EQ(sharded.params, whole.params);
  }
}

TEST_P(ShardedOptimizer, ResumesOnEveryGridWithOrWithoutShards) {
  const int n = sharded_steps();
  const Trained whole = train(sharded_corpus(), {.dp = 2, .steps = 2 * n, .precision = GetParam(), .clip_norm = 0});
  for (const int64_t before : {0, 1})
    for (const int64_t after : {0, 1}) {
      SCOPED_TRACE(fmt::format("parallel.zero {} then {}", before, after));
      const TemporaryFolder folder;
      const std::string at_n = folder / fmt::format("step-{:08}", n);
      Part part{.dp = 2, .steps = n, .to = folder.path(), .precision = GetParam(), .zero = before, .clip_norm = 0};
      train(sharded_corpus(), part);
      part.from = at_n, part.to = "", part.zero = after;
      const Trained rest = train(sharded_corpus(), part);
      EXPECT_EQ(rest.losses, std::vector<double>(whole.losses.begin() + n, whole.losses.end()));
      EXPECT_EQ(rest.params, whole.params);
    }
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
