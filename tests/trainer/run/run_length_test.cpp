// tests/trainer/run/run_length_test.cpp: runs that end by epochs or tokens, and rates that fall until then.
#include <utility>

#include "tests/trainer/run/staged_run.h"

namespace weft::testing {
namespace {

TEST_F(StagedRun, EndsAfterTheEpochsOfItsData) {
  config_.stages.clear();
  config_.data.train = a_, config_.train.epochs = "2", config_.train.steps = TrainConfig().steps;
  config_.schedule.kind = ScheduleKind::linear;
  run();
  const auto steps = log("loss");
  EXPECT_TRUE(holds(log("plan").at(0).at("plan"), "2 epochs of " + a_ + ", about ")) << log("plan").at(0);
  EXPECT_LT(steps.back().at("lr"), 0.2 * config_.schedule.lr);  // the rate falls until the end of the epochs
  EXPECT_EQ(steps.back().at("stages_end"), steps.size());
  const RunConfig whole = config_;
  for (const int64_t dp : {1, 2}) {  // stopped by its time and resumed, on other grids
    config_.train.output = folder_ / fmt::format("dp {}", dp);
    const auto start = [&](double minutes, int64_t ranks) {
      RunConfig c = config_;
      c.train.minutes = minutes, c.parallel.dp = ranks, c.train.allow_changes = minutes == 0;
      run_thread_ranks(static_cast<int>(ranks), [&](Communicator& world) { run_training(c, world); });
    };
    start(1e-9, dp);
    EXPECT_LT(log("loss").size(), steps.size());
    start(0, 3 - dp);
    EXPECT_EQ(log("loss").size(), steps.size());
    EXPECT_EQ(log("loss").back().at("lr"), steps.back().at("lr"));
  }
  config_ = whole, config_.train.steps = 7;
  EXPECT_TRUE(holds(refused(), "train.steps = 7 and train.epochs = 2 would both end the run"));
}

TEST_F(StagedRun, EndsWithItsTokensAndItsRateFallsUntilThen) {
  config_.stages.clear();
  config_.data.train = a_, config_.train.tokens = 1000, config_.train.steps = TrainConfig().steps;
  config_.schedule.kind = ScheduleKind::linear;
  run();
  const auto steps = log("loss");
  int64_t tokens = 0, before = 0;
  for (const nlohmann::json& step : steps)
    before = std::exchange(tokens, tokens + step.at("target_tokens").get<int64_t>());
  EXPECT_GE(tokens, 1000);
  EXPECT_LT(before, 1000);
  EXPECT_LT(steps.back().at("lr"), 0.2 * config_.schedule.lr);
  const double lr = steps.back().at("lr");
  config_.train.output = folder_ / "resumed", config_.train.minutes = 1e-9;
  run();
  EXPECT_LT(log("loss").size(), steps.size());
  config_.train.minutes = 0, config_.train.allow_changes = true;
  run();
  EXPECT_EQ(log("loss").size(), steps.size());
  EXPECT_EQ(log("loss").back().at("lr"), lr);
  config_.train.steps = 7;
  EXPECT_TRUE(
      holds(refused(), "train.steps = 7 and train.tokens = 1000 would both end the run: give only one of them"));
}

}  // namespace
}  // namespace weft::testing
