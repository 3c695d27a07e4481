// tests/trainer/optimizer/schedule_test.cpp: learning rates at the turning points of schedules.
#include "trainer/optimizer/schedule.h"

#include <gtest/gtest.h>

#include <cmath>

namespace weft {
namespace {

ScheduleConfig schedule(ScheduleKind kind) { return {.kind = kind, .lr = 8e-4, .warmup = 100, .min_lr = 1e-5}; }

TEST(Schedule, EachKindRisesLinearlyToItsHighestRate) {
  for (const ScheduleKind kind : {ScheduleKind::inverse_sqrt, ScheduleKind::linear, ScheduleKind::cosine,
                                  ScheduleKind::constant, ScheduleKind::wsd}) {
    EXPECT_DOUBLE_EQ(learning_rate(schedule(kind), 0, 1000), 8e-6);
    EXPECT_DOUBLE_EQ(learning_rate(schedule(kind), 49, 1000), 4e-4);
    EXPECT_DOUBLE_EQ(learning_rate(schedule(kind), 99, 1000), 8e-4);
  }
}

TEST(Schedule, WarmUpBeginsAtItsOwnRate) {
  ScheduleConfig s = schedule(ScheduleKind::constant);
  s.warmup_lr = 2e-4;
  EXPECT_DOUBLE_EQ(learning_rate(s, 49, 1000), 5e-4);
  EXPECT_DOUBLE_EQ(learning_rate(s, 99, 1000), 8e-4);
}

TEST(Schedule, InverseSquareRootHalvesWhenTheStepsQuadruple) {
  EXPECT_DOUBLE_EQ(learning_rate(schedule(ScheduleKind::inverse_sqrt), 399, 1000), 4e-4);
}

TEST(Schedule, IsThePapersFormula) {  // d^-0.5 min(n^-0.5, n warmup^-1.5), Vaswani et al. 2017, 5.3
  const ScheduleConfig base{.lr = 1 / std::sqrt(512.0 * 4000), .warmup = 4000};
  for (const double n : {1.0, 100.0, 4000.0, 100000.0})
    EXPECT_NEAR(learning_rate(base, static_cast<int64_t>(n) - 1, 100000),
                std::min(std::pow(n, -0.5), n * std::pow(4000, -1.5)) / std::sqrt(512), 1e-15);
}

TEST(Schedule, LinearAndCosineEndAtTheLowestRateAndStayThere) {
  for (const ScheduleKind kind : {ScheduleKind::linear, ScheduleKind::cosine}) {
    EXPECT_DOUBLE_EQ(learning_rate(schedule(kind), 999, 1000), 1e-5);
    EXPECT_DOUBLE_EQ(learning_rate(schedule(kind), 5000, 1000), 1e-5);
    EXPECT_NEAR(learning_rate(schedule(kind), 549, 1000), (8e-4 + 1e-5) / 2, 1e-9);  // half-way
  }
}

TEST(Schedule, ConstantStays) {
  EXPECT_DOUBLE_EQ(learning_rate(schedule(ScheduleKind::constant), 99999, 100000), 8e-4);
}

TEST(Schedule, WsdIsConstantUntilItsLastPart) {
  const ScheduleConfig wsd = schedule(ScheduleKind::wsd);
  EXPECT_EQ(stable_until(wsd, 1000), 800);
  for (const int64_t step : {99, 400, 799}) EXPECT_DOUBLE_EQ(learning_rate(wsd, step, 1000), 8e-4);
  EXPECT_LT(learning_rate(wsd, 800, 1000), 8e-4);
}

TEST(Schedule, WsdDecaysAsChosen) {
  ScheduleConfig wsd = schedule(ScheduleKind::wsd);
  wsd.decay_share = 0.4;  // after step 600 of 1000
  for (const double n : {601.0, 700.0, 850.0, 1000.0}) {
    const double x = (n - 600) / 400;
    wsd.decay_shape = DecayShape::linear;
    EXPECT_NEAR(learning_rate(wsd, static_cast<int64_t>(n) - 1, 1000), 1e-5 + 7.9e-4 * (1 - x), 1e-15) << n;
    wsd.decay_shape = DecayShape::one_minus_sqrt;
    EXPECT_NEAR(learning_rate(wsd, static_cast<int64_t>(n) - 1, 1000), 1e-5 + 7.9e-4 * (1 - std::sqrt(x)), 1e-15) << n;
  }
}

TEST(Schedule, WsdEndsAtDecaySteps) {
  ScheduleConfig wsd = schedule(ScheduleKind::wsd);
  wsd.decay_steps = 500;
  EXPECT_DOUBLE_EQ(learning_rate(wsd, 399, 1000), 8e-4);
  for (const int64_t step : {499, 700}) EXPECT_DOUBLE_EQ(learning_rate(wsd, step, 1000), 1e-5);
}

}  // namespace
}  // namespace weft
