// tests/trainer/health/divergence_test.cpp: which series of losses have diverged, and which checkpoints are good.
#include "trainer/health/divergence.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "tensor/random.h"

namespace weft {
namespace {

constexpr int64_t kWindow = DivergenceRule::kWindow, kNever = -1;

double noise(int64_t step) {  // standard deviation 1, from twelve uniform numbers
  double sum = -6;
  for (uint32_t i = 0; i < 12; ++i)
    sum += random_bits(/*seed=*/1, static_cast<uint64_t>(step), i, purpose_of("noise")) / 4294967296.0;
  return sum;
}

struct Watched {
  int64_t found = kNever;  // step
  DivergenceState state;
};

// Watches loss(1), loss(2), ... until the rule finds a divergence or the steps are over.
Watched watch(int64_t steps, const std::function<double(int64_t)>& loss) {
  Watched w;
  for (int64_t step = 1; step <= steps; ++step) {
    if (DivergenceRule(1).observe(w.state, step, loss(step), /*lost=*/false) == Divergence::none) continue;
    w.found = step;
    break;
  }
  return w;
}

double learning(int64_t step) { return 2 + 7 * std::exp(-static_cast<double>(step) / 300); }  // 9 to 2

TEST(Divergence, NoiseOfSmallBatchesIsNone) {
  EXPECT_EQ(watch(10000, [](int64_t step) { return learning(step) + 0.7 * noise(step); }).found, kNever);
}

TEST(Divergence, SpikesThatRecoverAreNone) {
  EXPECT_EQ(watch(10000, [](int64_t step) { return step % 500 < kWindow - 1 ? 40.0 : learning(step); }).found, kNever);
}

TEST(Divergence, ASlowDriftIsNone) {
  const auto drift = [](int64_t step) { return 3 + static_cast<double>(step) / 12000 + 0.1 * noise(step); };
  EXPECT_EQ(watch(10000, drift).found, kNever);
}

TEST(Divergence, ARiseDuringWarmupIsNone) {
  const auto rise = [](int64_t step) { return step < 60 ? 9.2 + static_cast<double>(step) / 60 : learning(step - 60); };
  EXPECT_EQ(watch(2000, rise).found, kNever);
}

TEST(Divergence, IsFoundAfterAWindowOfHighLosses) {
  const Watched w = watch(1000, [](int64_t step) { return step <= 40 ? 5.8 : 3.5e6; });
  EXPECT_EQ(w.found, 40 + kWindow);
  EXPECT_EQ(w.state.good_until, 40 - kWindow);
}

TEST(Divergence, OfAModelThatForgetsWhatItLearned) {
  const auto collapse = [](int64_t step) { return step <= 2000 ? learning(step) : 6.5 + 0.3 * noise(step); };
  EXPECT_EQ(watch(3000, collapse).found, 2000 + kWindow);
}

TEST(Divergence, LossesThatAreNotFiniteAreHigh) {
  for (const double bad : {std::nan(""), std::numeric_limits<double>::infinity()}) {
    const Watched w = watch(1000, [&](int64_t step) { return step <= 40 ? 5.8 : bad; });
    EXPECT_EQ(w.found, 40 + kWindow);
    EXPECT_EQ(w.state.recent.back(), DivergenceState::kHighest);  // JSON has no infinity
  }
}

TEST(Divergence, CheckpointsAreGoodWhileTheLossAfterThemIsLow) {
  const auto slow_rise = [](int64_t step) { return step <= 1000 ? 3 : 3 + static_cast<double>(step - 1000) / 100; };
  const Watched w = watch(2000, slow_rise);
  EXPECT_EQ(w.found, 1101 + kWindow - 1);
  EXPECT_LE(slow_rise(w.state.good_until), 3.5);
  EXPECT_GT(w.state.good_until, 1000);
}

TEST(Divergence, FiveStepsInARowThatAreNotFinite) {
  const DivergenceRule rule(1);
  DivergenceState state;
  const auto observe = [&](bool lost) { return rule.observe(state, 1, 5, lost); };
  for (int i = 0; i < 4; ++i) EXPECT_EQ(observe(true), Divergence::none);
  EXPECT_EQ(observe(false), Divergence::none);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(observe(true), Divergence::none);
  EXPECT_EQ(observe(true), Divergence::not_finite);
}

TEST(Divergence, StepsThatAreNotFiniteCountWhateverTheLossIs) {
  DivergenceState state;
  const DivergenceRule rule(1);
  for (int64_t step = 1; step <= 20; ++step) rule.observe(state, step, 5, /*lost=*/false);
  for (int64_t step = 21; step <= 40; ++step) rule.observe(state, step, 9, /*lost=*/step > 36);
  EXPECT_EQ(rule.observe(state, 41, 9, /*lost=*/true), Divergence::not_finite);
}

TEST(Divergence, CountsRollbacksUntilTheLossIsLowerThanEver) {
  const DivergenceRule rule(1);
  Watched w = watch(1000, [](int64_t step) { return step <= 40 ? 5.8 : 100; });
  DivergenceRule::note_rollback(w.state, w.found);
  EXPECT_EQ(w.state.good_until, w.found);
  int64_t step = w.found;
  for (int i = 0; i < kWindow; ++i) EXPECT_EQ(rule.observe(w.state, ++step, 5.9, false), Divergence::none);
  EXPECT_EQ(w.state.rollbacks, 1);
  for (int i = 0; i < kWindow; ++i) EXPECT_EQ(rule.observe(w.state, ++step, 5.7, false), Divergence::none);
  EXPECT_EQ(w.state.rollbacks, 0);
}

}  // namespace
}  // namespace weft
