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
            "schedule.warmup = 81 ends after step 80, where the decay of schedule.kind = wsd starts: lower "
            "schedule.warmup or schedule.decay_share = 0.2, or raise train.steps, train.epochs or train.tokens");
  wsd.kind = ScheduleKind::cosine;
  EXPECT_NO_THROW(check_schedule(wsd, 100));
}

TEST(CheckSchedule, RefusesAShareThatIsNone) {
  for (const double share : {0.0, -0.5, 1.5})
    EXPECT_EQ(refusal_of(ErrorKind::usage, [&] { check_schedule({.decay_share = share}, 100); }),
              fmt::format("schedule.decay_share = {} must be in (0, 1]", share));
}

TEST(CheckSchedule, RefusesARateAboveTheHighest) {
  EXPECT_EQ(refusal_of(ErrorKind::usage, [&] { check_schedule({.lr = 1e-3, .min_lr = 2e-3}, 100); }),
            "schedule.min_lr = 0.002 must be at most schedule.lr = 0.001, the peak rate");
  EXPECT_EQ(refusal_of(ErrorKind::usage, [&] { check_schedule({.lr = 1e-3, .warmup_lr = 2e-3}, 100); }),
            "schedule.warmup_lr = 0.002 must be at most schedule.lr = 0.001, the peak rate");
}

RunConfig run_in_stages(std::vector<StageConfig> stages) {
  RunConfig config;
  config.stages = std::move(stages);
  config.train.steps = 100;
  return config;
}

StageConfig stage_with(ScheduleKind kind, int64_t steps, int64_t warmup = 1) {
  return {
      .name = "tune", .mix = "b", .steps = steps, .has_schedule = true, .schedule = {.kind = kind, .warmup = warmup}};
}

void check_schedules_of(const RunConfig& config) { check_schedules(config, parse_stages(config)); }

TEST(CheckSchedules, ThatOfAStageDecaysOverItsOwnSteps) {
  const StageConfig first{.name = "first", .mix = "a", .steps = 60};
  const auto refused = [&](const StageConfig& stage) {
    return refusal_of(ErrorKind::usage, [&] { check_schedules_of(run_in_stages({first, stage})); });
  };
  EXPECT_EQ(refused(stage_with(ScheduleKind::wsd, /*steps=*/0, /*warmup=*/32)), "");  // 40 steps are left
  EXPECT_EQ(
      refused(stage_with(ScheduleKind::wsd, /*steps=*/0, /*warmup=*/33)),
      "stage.tune.schedule.warmup = 33 ends after step 32 of the stage, where the decay of "
      "stage.tune.schedule.kind = wsd starts: lower stage.tune.schedule.warmup or stage.tune.schedule.decay_share "
      "= 0.2, or raise the steps of the stage, or train.steps");
  EXPECT_EQ(refused(stage_with(ScheduleKind::wsd, /*steps=*/200, /*warmup=*/33)), "");
  StageConfig negative = stage_with(ScheduleKind::constant, 0);
  negative.schedule.lr = -1;
  EXPECT_EQ(refused(negative), "stage.tune.schedule.lr = -1 must be at least 0");
}

TEST(CheckSchedules, NoStageBeginsAtARateThatHasFallenToZero) {
  const StageConfig last{.name = "last", .mix = "a"};
  RunConfig config = run_in_stages({stage_with(ScheduleKind::cosine, 60), last});
  const auto refused = [&] { return refusal_of(ErrorKind::usage, [&] { check_schedules_of(config); }); };
  EXPECT_EQ(refused(),
            "stage.last would train at a rate of 0, because stage.tune.schedule reaches stage.tune.schedule.min_lr = 0 "
            "before the stage starts: set stage.last.schedule.lr, stage.tune.schedule.min_lr or "
            "stage.tune.schedule.decay_steps");
  config.stages[0].schedule.min_lr = 1e-5;
  EXPECT_EQ(refused(), "");
  config.stages[0].schedule.min_lr = 0, config.stages[0].schedule.decay_steps = 90;
  EXPECT_EQ(refused(), "");
  config.stages[0].has_schedule = false;  // the run's
  config.schedule.kind = ScheduleKind::linear, config.schedule.decay_steps = 50, config.schedule.warmup = 1;
  EXPECT_NE(refused().find("stage.last would train at a rate of 0, because schedule reaches"), std::string::npos);
  config.schedule.decay_steps = 0;
  EXPECT_EQ(refused(), "");
  StageConfig first{.name = "first", .mix = "a"};
  first.tokens = 1000;  // so nobody knows where the next one begins
  config = run_in_stages({first, stage_with(ScheduleKind::cosine, 60), last});
  EXPECT_NE(refused().find("stage.last would train at a rate of 0"), std::string::npos);
}

TEST(CheckOptimizer, RefusesAFallingScheduleOfAStageWithScheduleFreeSteps) {
  RunConfig config = run_in_stages({stage_with(ScheduleKind::inverse_sqrt, 60)});
  config.optimizer.kind = OptimizerKind::schedule_free, config.schedule.kind = ScheduleKind::constant;
  EXPECT_EQ(refusal_of(ErrorKind::usage, [&] { check_optimizer(config); }),
            "optimizer.kind = schedule_free needs a rate that does not decay: set stage.tune.schedule.kind = "
            "constant (it is inverse_sqrt), and choose stage.tune.schedule.warmup");
  config.stages[0].schedule.kind = ScheduleKind::constant;
  EXPECT_NO_THROW(check_optimizer(config));
}

TEST(DescribeOptionsWithoutEffect, NamesThoseOfOtherKinds) {
  RunConfig config = run_in_stages({stage_with(ScheduleKind::constant, 60)});
  EXPECT_EQ(describe_options_without_effect(config), "");
  config.schedule.kind = ScheduleKind::cosine;
  config.schedule.decay_steps = 50, config.schedule.decay_shape = DecayShape::linear;
  config.stages[0].schedule.min_lr = 1e-5;
  config.optimizer.muon_momentum = 0.9;
  EXPECT_EQ(describe_options_without_effect(config),
            "schedule.decay_shape, stage.tune.schedule.min_lr, optimizer.muon_momentum");
  config.schedule.kind = ScheduleKind::wsd, config.optimizer.kind = OptimizerKind::muon;
  EXPECT_EQ(describe_options_without_effect(config), "stage.tune.schedule.min_lr");
  config.optimizer.kind = OptimizerKind::lion, config.optimizer.muon_momentum = OptimizerConfig().muon_momentum;
  config.optimizer.eps = 1e-6, config.schedule.warmup = 0, config.schedule.warmup_lr = 1e-5;
  EXPECT_EQ(describe_options_without_effect(config), "schedule.warmup_lr, stage.tune.schedule.min_lr, optimizer.eps");
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
            "train.ema = 0.999 would add a second average, because optimizer.kind = schedule_free already averages the "
            "weights: set train.ema = 0");
}

TEST(DescribeSchedule, SaysWhereTheDecayBegins) {
  EXPECT_EQ(describe_schedule({.lr = 1e-3, .warmup = 10}, 100), "rate up to 0.001 after 10 steps of warm-up");
  EXPECT_EQ(describe_schedule({.kind = ScheduleKind::wsd, .lr = 1e-3, .warmup = 10, .decay_steps = 50}, 100),
            "rate up to 0.001 after 10 steps of warm-up, constant until step 40, then down to 0");
  EXPECT_EQ(describe_schedule({.kind = ScheduleKind::wsd, .lr = 1e-3, .warmup = 10}, std::nullopt),
            "rate up to 0.001 after 10 steps of warm-up, constant until the last 20 % of its steps, then down to 0 by "
            "train.steps");
  EXPECT_EQ(describe_schedule({.kind = ScheduleKind::cosine, .lr = 1e-3, .warmup = 10, .min_lr = 1e-5}, 100),
            "rate up to 0.001 after 10 steps of warm-up, then down to 1e-05");
}

TEST(DescribeSchedule, SaysThatAWarmUpDoesNotEnd) {
  for (const ScheduleKind kind : {ScheduleKind::inverse_sqrt, ScheduleKind::linear, ScheduleKind::constant})
    EXPECT_EQ(describe_schedule({.kind = kind, .lr = 1e-3, .warmup = 101}, 100),
              "rate up to 0.00099 instead of 0.001, because the warm-up of 101 steps is not completed");
}

TEST(DescribeSchedule, WarnsOfMinutesThatMayCutADecay) {
  RunConfig config;
  config.train.minutes = 5;
  EXPECT_EQ(describe_fall_by_clock(config), "") << "inverse_sqrt has no end";
  config.schedule.kind = ScheduleKind::wsd;
  EXPECT_NE(describe_fall_by_clock(config), "");
  config.train.minutes = 0;
  EXPECT_EQ(describe_fall_by_clock(config), "");
}

}  // namespace
}  // namespace weft::testing
