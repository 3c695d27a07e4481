// tests/trainer/optimizer/optimizer_runs_test.cpp: with every optimizer and a rate that falls, training is the same on
// every grid, and a resumed run is bit-equal to one that was not stopped.
#include <gtest/gtest.h>

#include "tests/support/small_run.h"
#include "trainer/precision.h"

namespace weft::testing {
namespace {

const TextCorpus& corpus_of_runs() {
  static const TextCorpus text(/*num_pairs=*/300);
  return text;
}

int steps_of_runs() { return all_or_few(12, 2); }

struct WayToUpdate {
  const char* name;
  OptimizerKind optimizer;
  bool decays = false;
};
constexpr WayToUpdate kWays[] = {{"muon", OptimizerKind::muon},
                                 {"schedule_free", OptimizerKind::schedule_free},
                                 {"lion", OptimizerKind::lion},
                                 {"adam_with_wsd", OptimizerKind::adam, true}};

class OptimizerRuns : public ::testing::TestWithParam<WayToUpdate> {
 protected:
  static Part part(int dp, int tp, int steps, Precision precision = Precision::f32) {
    return {.dp = dp,
            .tp = tp,
            .steps = steps,
            .precision = precision,
            .optimizer = GetParam().optimizer,
            .decays = GetParam().decays};
  }
  static Trained trained(const Part& part) { return train(corpus_of_runs(), part); }
};

INSTANTIATE_TEST_SUITE_P(Training, OptimizerRuns, ::testing::ValuesIn(kWays),
                         [](const auto& info) { return info.param.name; });

TEST_P(OptimizerRuns, AreTheSameOnEveryGrid) {
  const Trained one = trained(part(1, 1, steps_of_runs()));
  for (const auto& [dp, tp] : all_or_few<std::vector<std::pair<int, int>>>(
           {{2, 1}, {1, 2}, {2, 2}, {4, 1}, {1, 4}, {4, 2}}, {{2, 1}, {1, 2}, {2, 2}})) {
    SCOPED_TRACE(fmt::format("dp {} x tp {}", dp, tp));
    expect_equal_to_rounding(trained(part(dp, tp, steps_of_runs())), one);
  }
  Part split = part(2, 2, steps_of_runs());
  split.sequence = true;
  expect_equal_to_rounding(trained(split), one);
}

TEST_P(OptimizerRuns, LowerTheLoss) {
  const Trained t = trained(part(1, 1, 20));
  EXPECT_LT(t.losses.back(), 0.95 * t.losses.front());
}

TEST_P(OptimizerRuns, InHalfPrecisionAreTheSameOnEveryGrid) {
  for (const Precision precision : {Precision::bf16, Precision::f16}) {
    const Trained one = trained(part(1, 1, steps_of_runs(), precision));
    for (const auto& [dp, tp] : {std::pair{2, 1}, {1, 2}, {2, 2}}) {
      SCOPED_TRACE(fmt::format("{} dp {} x tp {}", name_of(storage_of(precision)), dp, tp));
      expect_within(kBandOfGrids, trained(part(dp, tp, steps_of_runs(), precision)).losses, one.losses);
    }
  }
}

TEST_P(OptimizerRuns, ThatResumeAreBitEqualToThoseThatWereNotStopped) {
  for (const Precision precision : {Precision::f32, Precision::bf16, Precision::f16})
    for (const auto& [dp, tp] : {std::pair{1, 1}, {2, 1}, {1, 2}, {2, 2}}) {
      SCOPED_TRACE(fmt::format("{} dp {} x tp {}", name_of(storage_of(precision)), dp, tp));
      const TemporaryFolder folder;
      const int n = steps_of_runs() / 2;
      const Trained whole = trained(part(dp, tp, 2 * n, precision));
      Part half = part(dp, tp, n, precision);
      half.to = folder.path();
      trained(half);
      half.to = "", half.from = folder / fmt::format("step-{:08}", n);
      const Trained rest = trained(half);
      EXPECT_EQ(rest.losses, std::vector<double>(whole.losses.begin() + n, whole.losses.end()));
      EXPECT_EQ(rest.params, whole.params);
    }
}

TEST_P(OptimizerRuns, GoOnOnAnotherGrid) {
  const TemporaryFolder folder;
  const int half = steps_of_runs() / 2;
  const Trained whole = trained(part(1, 1, 2 * half));
  Part first = part(2, 1, half);
  first.to = folder.path();
  trained(first);
  Part second = part(1, 2, half);
  second.from = folder / fmt::format("step-{:08}", half);
  expect_equal_to_rounding(trained(second), whole, static_cast<size_t>(half));
}

}  // namespace
}  // namespace weft::testing
