// tests/trainer/run/run_log_test.cpp: what the log says of a step that is faster than the processors seemed to allow.
#include "trainer/run/run_log.h"

#include <gtest/gtest.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "parallel/communicator.h"
#include "tests/support/temporary_folder.h"
#include "tests/trainer/report/read_event_log.h"
#include "trainer/run/run_folder.h"
#include "trainer/stages/stages.h"

namespace weft {
namespace {

using testing::TemporaryFolder;

// The record of a step of 1e6 FLOPs in a second, on processors that seem to do 1e5, in 4 seconds at least.
nlohmann::json step_record(double given_peak) {
  const TemporaryFolder folder;
  RunConfig config;
  config.data.train = "a";
  config.train.output = folder / "run", config.train.tensorboard = false, config.train.peak_flops = given_peak;
  const std::unique_ptr<Communicator> alone = make_single_communicator();
  const Mesh mesh(*alone, config.parallel);
  RunLog log(config, parse_stages(config), mesh);
  log.set_limits({.flops = 1e5, .seconds = 4});
  log.open(RunFolder(config.train.output, /*fresh=*/false), "plan", "config", TrainState());
  log.step({.step = 1, .epochs = {1}, .totals = {.target_tokens = 9, .flops = 1e6}, .seconds = 1}, {.last_step = 9});
  log.flush();
  return read_event_log(config.train.output + "/log.jsonl").at(1);
}

TEST(RunLog, NeverLogsAShareAboveOneOfMeasuredRates) {
  const nlohmann::json record = step_record(0);
  EXPECT_EQ(record.at("mfu"), 1);
  EXPECT_EQ(record.at("roofline"), 1);
}

TEST(RunLog, KeepsTheRatesThatTheUserGave) {
  const nlohmann::json record = step_record(1e5);
  EXPECT_EQ(record.at("mfu"), 10);
  EXPECT_EQ(record.at("roofline"), 4);
}

}  // namespace
}  // namespace weft
