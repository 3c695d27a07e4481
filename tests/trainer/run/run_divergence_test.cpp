// tests/trainer/run/run_divergence_test.cpp: runs whose learning rate is far too high stop, go back or continue.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "data/atomic_file.h"
#include "tests/support/errors.h"
#include "tests/support/run_device.h"
#include "tests/support/text_corpus.h"
#include "tests/trainer/report/read_event_log.h"
#include "trainer/run/run.h"

namespace weft::testing {
namespace {

namespace fs = std::filesystem;

RunConfig diverging_config(const TemporaryFolder& folder) {
  static const TextCorpus text(/*num_pairs=*/60);
  RunConfig c;
  c.model.width = 16, c.model.heads = 2, c.model.feed_forward = 16;
  c.model.encoder_layers = c.model.decoder_layers = 1;
  c.data.train = text.folder();
  c.batch.rows = 64, c.batch.blocks = 2;
  c.schedule.lr = 3e-3, c.schedule.warmup = 5;
  c.train.output = folder / "run";
  c.train.save_every = 5, c.train.keep_last = 3;
  use_test_device(c);
  return c;
}

void train_for(RunConfig c, int64_t steps) {
  c.train.steps = steps;
  const auto world = make_single_communicator();
  EXPECT_EQ(run_training(c, *world), 0);
}

// Forty good steps, then a rate that ruins the model. With `end`, the rate falls to 0 at that step.
RunConfig ruined(RunConfig c, int64_t end = 0, double lr = 10) {
  train_for(c, 40);
  c.schedule.lr = lr, c.schedule.warmup = 0;
  c.schedule.kind = end > 0 ? ScheduleKind::linear : ScheduleKind::constant;
  c.schedule.decay_steps = end;
  c.train.allow_changes = true;
  return c;
}

std::string error_of_training(const RunConfig& c) {
  return message_of(ErrorKind::diverged, [&] { train_for(c, 200); });
}

std::vector<nlohmann::json> log_without_times(const RunConfig& c) {
  std::vector<nlohmann::json> log = read_event_log(c.train.output + "/log.jsonl");
  std::erase_if(log, [](const nlohmann::json& record) { return record.contains("schema"); });  // a start
  for (nlohmann::json& record : log)
    for (const char* key : {"seconds", "mfu", "roofline", "time"}) record.erase(key);
  return log;
}

std::vector<std::pair<int64_t, int64_t>> rollbacks(const RunConfig& c) {  // from, to
  std::vector<std::pair<int64_t, int64_t>> all;
  for (const auto& record : log_without_times(c))
    if (record.contains("rolled_back_to")) all.emplace_back(record.at("step"), record.at("rolled_back_to"));
  return all;
}

bool has_step(const RunConfig& c, int64_t step) {
  return fs::exists(fmt::format("{}/checkpoints/step-{:08}/MANIFEST.json", c.train.output, step));
}

TEST(DivergedRun, StopsAndKeepsTheLastGoodCheckpoint) {
  const TemporaryFolder folder;
  const RunConfig c = ruined(diverging_config(folder));
  const std::string said = error_of_training(c);
  EXPECT_NE(said.find("the run has diverged, because the nll is "), std::string::npos) << said;
  EXPECT_NE(said.find("rollback, which goes back to " + c.train.output + "/checkpoints/step-00000020"),
            std::string::npos)
      << said;
  EXPECT_TRUE(has_step(c, 20));
  const int64_t last = log_without_times(c).back().at("step");
  EXPECT_LE(last, 62);
  for (int64_t step = last; step <= 200; ++step) EXPECT_FALSE(has_step(c, step)) << step;
}

TEST(DivergedRun, GoesBackToTheLastGoodCheckpointThatAnEarlierStartKept) {
  const TemporaryFolder folder;
  RunConfig c = ruined(diverging_config(folder));
  error_of_training(c);
  c.schedule.lr = 1e-3, c.train.on_divergence = OnDivergence::rollback;
  train_for(c, 100);
  ASSERT_EQ(rollbacks(c).size(), 1u);
  EXPECT_EQ(rollbacks(c).front().second, 20);
  EXPECT_LT(log_without_times(c).back().at("nll"), 6);
}

TEST(DivergedRun, PassesOverADamagedCheckpoint) {
  const TemporaryFolder folder;
  RunConfig c = diverging_config(folder);
  c.train.keep_every = 5;
  c = ruined(c);
  error_of_training(c);
  const std::string weights = c.train.output + "/checkpoints/step-00000020/model.safetensors";
  std::string bytes = read_file(weights);
  bytes.back() ^= 1;
  write_file_atomically(weights, bytes);
  c.schedule.lr = 1e-3, c.train.on_divergence = OnDivergence::rollback;
  train_for(c, 100);
  ASSERT_EQ(rollbacks(c).size(), 1u);
  EXPECT_EQ(rollbacks(c).front().second, 15);
}

TEST(DivergedRun, StoppedAndResumedAroundARollbackIsBitEqualToOneThatWasNotStopped) {
  const TemporaryFolder whole_folder, parts_folder;
  RunConfig whole = diverging_config(whole_folder), parts = diverging_config(parts_folder);
  whole.train.on_divergence = parts.train.on_divergence = OnDivergence::rollback;
  whole = ruined(whole, /*end=*/60), parts = ruined(parts, /*end=*/60);
  train_for(whole, 100);
  for (const int64_t stop : {50, 75, 100}) train_for(parts, stop);
  EXPECT_EQ(rollbacks(whole).size(), 1u);
  EXPECT_EQ(log_without_times(parts), log_without_times(whole));
  const std::string weights = "/checkpoints/step-00000100/model.safetensors";
  EXPECT_EQ(read_file(parts.train.output + weights), read_file(whole.train.output + weights));
}

TEST(DivergedRun, GivesUpAfterThreeRollbacksInVain) {
  const TemporaryFolder folder;
  RunConfig c = ruined(diverging_config(folder));
  c.train.on_divergence = OnDivergence::rollback;
  const std::string said = error_of_training(c);
  EXPECT_NE(said.find("3 rollbacks did not help"), std::string::npos) << said;
  EXPECT_EQ(rollbacks(c).size(), 3u);
}

TEST(DivergedRun, GoesBackIfACheckpointWouldHoldNumbersThatAreNotFinite) {
  const TemporaryFolder folder;
  RunConfig c = ruined(diverging_config(folder), /*end=*/44, /*lr=*/1e6);
  c.train.on_divergence = OnDivergence::rollback;
  train_for(c, 60);
  ASSERT_EQ(rollbacks(c).size(), 1u);
  EXPECT_GE(rollbacks(c).front().first, 45);  // when the thread that writes has found it
  EXPECT_EQ(rollbacks(c).front().second, 20);
  EXPECT_LT(log_without_times(c).back().at("nll"), 6);
}

TEST(DivergedRun, GoesBackAndSavesIfItsLastCheckpointWouldHoldThem) {
  const TemporaryFolder folder;
  RunConfig c = ruined(diverging_config(folder), /*end=*/44, /*lr=*/1e6);
  c.train.on_divergence = OnDivergence::rollback;
  train_for(c, 45);
  EXPECT_EQ(rollbacks(c).size(), 1u);
  EXPECT_TRUE(has_step(c, 45));
}

TEST(DivergedRun, GoesBackAndValidatesAgainIfAValidationMeetsNumbersThatAreNotFinite) {
  const TemporaryFolder folder;
  for (const int64_t translated : {0, 4}) {
    RunConfig c = diverging_config(folder);
    c.train.output += std::to_string(translated);
    c = ruined(c, /*end=*/44, /*lr=*/1e30);
    c.data.valid = c.data.train;
    c.train.on_divergence = OnDivergence::rollback;
    c.train.validate_every = 43, c.train.validate_bleu = translated, c.train.keep_best = "loss";
    c.train.save_every = 43;
    train_for(c, 60);
    ASSERT_EQ(rollbacks(c), (std::vector<std::pair<int64_t, int64_t>>{{43, 20}}));
    const auto log = log_without_times(c);
    const auto validated = std::ranges::find_if(log, [](const auto& record) { return record.contains("valid_nll"); });
    ASSERT_NE(validated, log.end());
    EXPECT_EQ(validated->at("step"), 43);
    EXPECT_LT(validated->at("valid_nll"), 6);
    EXPECT_TRUE(has_step(c, 43));
  }
}

TEST(DivergedRun, ContinuesIfItsLossIsIgnored) {
  const TemporaryFolder folder;
  RunConfig c = ruined(diverging_config(folder), /*end=*/60);
  c.train.on_divergence = OnDivergence::ignore;
  train_for(c, 100);
  EXPECT_TRUE(has_step(c, 20));
  EXPECT_GT(log_without_times(c).back().at("nll"), 7);
}

TEST(DivergedRun, ARiseThatTheOptionAllowsIsNone) {
  const TemporaryFolder folder;
  RunConfig c = ruined(diverging_config(folder), /*end=*/60);
  c.train.divergence_rise = 1e9;
  train_for(c, 70);
  EXPECT_TRUE(has_step(c, 70));
}

TEST(DivergedRun, OptionsThatCannotWorkAreRefused) {
  const TemporaryFolder folder;
  RunConfig c = diverging_config(folder);
  const auto refusal = [&] { return message_of(ErrorKind::usage, [&] { train_for(c, 1); }); };
  c.train.divergence_rise = 0;
  EXPECT_EQ(refusal(), "train.divergence_rise = 0 must be above 0");
  c.train.divergence_rise = 1, c.train.on_divergence = OnDivergence::rollback, c.train.save_every = 0;
  EXPECT_NE(refusal().find("train.on_divergence = rollback needs checkpoints"), std::string::npos);
}

}  // namespace
}  // namespace weft::testing
