// tests/trainer/plan/update_options_test.cpp: options of schedule and optimizer that do not go together.
#include "trainer/plan/update_options.h"

#include <gtest/gtest.h>

#include "tests/support/errors.h"

namespace weft::testing {
namespace {

TEST(CheckSchedule, RefusesADecayThatBeginsDuringWarmUp) {
  ScheduleConfig wsd{.kind = ScheduleKind::wsd, .warmup = 80};
  EXPECT_NO_THROW(check_schedule(wsd, 100));
  wsd.warmup = 81;
  EXPECT_EQ(refusal_of(ErrorKind::usage, [&] { check_schedule(wsd, 100); }),
            "schedule.warmup = 81 ends after step 80, where the decay of schedule.kind = wsd begins: lower "
            "schedule.warmup or schedule.decay_share = 0.2, or raise train.steps");
  wsd.kind = ScheduleKind::cosine;
  EXPECT_NO_THROW(check_schedule(wsd, 100));
}

TEST(CheckSchedule, RefusesAShareThatIsNone) {
  for (const double share : {0.0, -0.5, 1.5})
    EXPECT_EQ(refusal_of(ErrorKind::usage, [&] { check_schedule({.decay_share = share}, 100); }),
              fmt::format("schedule.decay_share = {} must be in (0, 1]", share));
}

TEST(CheckOptimizer, RefusesASecondAverageBesideThatOfScheduleFreeSteps) {
  RunConfig config;
  config.train.ema = 0.999;
  for (const OptimizerKind kind : {OptimizerKind::adam, OptimizerKind::muon}) {
    config.optimizer.kind = kind;
    EXPECT_NO_THROW(check_optimizer(config));
  }
  config.optimizer.kind = OptimizerKind::schedule_free;
  EXPECT_EQ(refusal_of(ErrorKind::usage, [&] { check_optimizer(config); }),
            "train.ema = 0.999 is a second average beside that of optimizer.kind = schedule_free: set train.ema = 0");
}

TEST(DescribeSchedule, SaysWhereTheDecayBegins) {
  EXPECT_EQ(describe_schedule({.lr = 1e-3, .warmup = 10}, 100), "rate up to 0.001 after 10 of warm-up");
  EXPECT_EQ(describe_schedule({.kind = ScheduleKind::wsd, .lr = 1e-3, .warmup = 10, .decay_steps = 50}, 100),
            "rate up to 0.001 after 10 of warm-up, constant until step 40, then down to 0");
}

}  // namespace
}  // namespace weft::testing
