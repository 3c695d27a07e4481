// tests/trainer/optimizer/schedule_test.cpp: learning rates at the turning points of schedules.
#include "trainer/optimizer/schedule.h"

#include <gtest/gtest.h>

#include <cmath>

namespace weft {
namespace {

ScheduleConfig schedule(ScheduleKind kind) { return {.kind = kind, .lr = 8e-4, .warmup = 100, .min_lr = 1e-5}; }

TEST(Schedule, EachKindRisesLinearlyToItsHighestRate) {
  for (const ScheduleKind kind :
       {ScheduleKind::inverse_sqrt, ScheduleKind::linear, ScheduleKind::cosine, ScheduleKind::constant}) {
    EXPECT_DOUBLE_EQ(learning_rate(schedule(kind), 0, 1000), 8e-6);
    EXPECT_DOUBLE_EQ(learning_rate(schedule(kind), 49, 1000), 4e-4);
    EXPECT_DOUBLE_EQ(learning_rate(schedule(kind), 99, 1000), 8e-4);
  }
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

}  // namespace
}  // namespace weft
