// tests/trainer/run/run_test.cpp: the files of a run: its log, its links, older runs set aside; and refused runs.
#include "trainer/run/run.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>

#include "data/atomic_file.h"
#include "data/shards/manifest.h"
#include "model/flops.h"
#include "tests/support/errors.h"
#include "tests/trainer/report/read_event_log.h"
#include "tests/trainer/run/text_run.h"
#include "trainer/config/absolute_paths.h"
#include "trainer/config/changed_options.h"
#include "trainer/config/config_text.h"
#include "trainer/report/tensorboard.h"
#include "trainer/run/run_folder.h"
#include "trainer/signals.h"

namespace weft::testing {
namespace {

namespace fs = std::filesystem;

TEST(Run, LogsEachStepAndValidationOnceAlsoWhenResumed) {
  const TemporaryFolder folder;
  RunConfig c = run_config(folder);
  c.train.steps = 3;
  EXPECT_EQ(run(c), 0);
  c.train.steps = 6;
  EXPECT_EQ(run(c), 0);
  EXPECT_EQ(logged(c, "loss"), (std::vector<int64_t>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(logged(c, "valid_loss"), (std::vector<int64_t>{2, 3, 4, 6}));  // 3: the end of the first part
}

TEST(Run, LogsEveryStartWithItsGridBeforeItsFirstRecord) {
  const TemporaryFolder folder;
  RunConfig c = run_config(folder);
  c.train.steps = 3;
  run(c);
  c.train.steps = 6;
  for (int start = 0; start < 2; ++start) run(c);  // the second has nothing to do
  EXPECT_EQ(logged(c, "schema"), (std::vector<int64_t>{0, 3}));
  const nlohmann::json first = read_event_log(c.train.output + "/log.jsonl").front();
  EXPECT_EQ(first.at("schema"), kLogSchema);
  EXPECT_EQ(first.at("hosts").size(), 1u);
  EXPECT_NE(first.at("plan").get<std::string>().find("width 16, 2 heads"), std::string::npos);
}

TEST(Run, LogsTheSameSentencesAtEachValidation) {
  const TemporaryFolder folder;
  RunConfig c = run_config(folder);
  c.train.samples = 3;
  run(c);
  std::set<std::string> sources;
  for (const auto& record : read_event_log(c.train.output + "/log.jsonl")) {
    if (!record.contains("valid_loss")) continue;
    ASSERT_EQ(record.at("samples").size(), 3u);
    for (const auto& sample : record.at("samples")) sources.insert(sample.at("source").get<std::string>());
    const auto& attention = record.at("attention");
    EXPECT_EQ(attention.at("weights").size(), attention.at("target").size());
    for (const auto& row : attention.at("weights").get<std::vector<std::vector<double>>>()) {
      EXPECT_EQ(row.size(), attention.at("source").size());
      EXPECT_NEAR(std::accumulate(row.begin(), row.end(), 0.0), 1, 5e-4 * static_cast<double>(row.size()));
    }
  }
  EXPECT_EQ(sources.size(), 3u);
}

TEST(Run, WritesTheEventFileOfItsLogAlsoWhenResumed) {
  const TemporaryFolder folder;
  RunConfig c = run_config(folder);
  c.train.steps = 3;
  run(c);
  c.train.steps = 6;
  run(c);
  std::set<fs::path> files;
  for (const auto& entry : fs::directory_iterator(c.train.output + "/tensorboard")) files.insert(entry.path());
  ASSERT_EQ(files.size(), 2u);
  EXPECT_TRUE(fs::is_empty(*files.begin())) << "of the first start";
  const std::string config = read_file(c.train.output + "/config.cfg");
  TensorBoardEncoder encoder;
  std::string events;
  for (const auto& record : read_event_log(c.train.output + "/log.jsonl")) events += encoder.events(record);
  const std::string written = read_file(*files.rbegin());
  EXPECT_TRUE(written.ends_with(events));
  EXPECT_EQ(written.size(), TensorBoardEncoder::begin(config, 0).size() + events.size());
}

TEST(Run, WritesNoEventFileIfToldSo) {
  const TemporaryFolder folder;
  RunConfig c = run_config(folder);
  c.train.tensorboard = false, c.train.steps = 1;
  run(c);
  EXPECT_FALSE(fs::exists(c.train.output + "/tensorboard"));
}

TEST(Run, LogsTheShareOfThePeakOfAllRanks) {
  const TemporaryFolder folder;
  RunConfig c = run_config(folder);
  c.train.steps = 1, c.train.peak_flops = 1e9;
  run(c);
  const nlohmann::json step = read_event_log(c.train.output + "/log.jsonl").at(1);
  const Manifest corpus = read_manifest(c.data.train);
  ModelConfig model = c.model;
  model.source_vocabulary = model.target_vocabulary = corpus.target_vocabulary;
  const auto share = [&](int64_t length) {  // if all sentences were so long
    const TokenFlops flops = forward_flops(model, static_cast<double>(length), static_cast<double>(length));
    const double operations = 3 * (step.at("source_tokens").get<double>() * flops.source +
                                   step.at("target_tokens").get<double>() * flops.target);
    return operations / c.train.peak_flops / step.at("seconds").get<double>();
  };
  EXPECT_GT(step.at("mfu").get<double>(), share(1));
  EXPECT_LT(step.at("mfu").get<double>(), share(c.batch.rows));
}

TEST(Run, LogsTheLeastTimeOfAStepAsAShareOfItsTime) {
  const auto least_seconds = [](double rate) {
    const TemporaryFolder folder;
    RunConfig c = run_config(folder);
    c.train.steps = 1, c.train.peak_flops = c.train.memory_bandwidth = rate;
    run(c);
    const nlohmann::json step = read_event_log(c.train.output + "/log.jsonl").at(1);
    return step.at("roofline").get<double>() * step.at("seconds").get<double>();
  };
  EXPECT_NEAR(least_seconds(2e5) / least_seconds(1e5), 0.5, 1e-3);
}

TEST(Run, LogsItsShareOfTheRooflineOfThisMachine) {
  const TemporaryFolder folder;
  RunConfig c = run_config(folder);
  c.device = DeviceChoice::cpu, c.train.steps = 1;
  run(c);
  const double share = read_event_log(c.train.output + "/log.jsonl").at(1).at("roofline");
  EXPECT_GT(share, 0) << "both rates are measured; beside other load a step may be faster than they were";
}

TEST(Run, WithoutSamplesLogsScoresAlone) {
  const TemporaryFolder folder;
  RunConfig c = run_config(folder);
  c.train.samples = 0, c.train.steps = 2;
  run(c);
  for (const char* field : {"samples", "attention"}) EXPECT_TRUE(logged(c, field).empty()) << field;
  EXPECT_EQ(logged(c, "bleu").size(), 1u);
}

TEST(Run, BestPointsToTheLastStepIfThatIsTheBest) {
  const TemporaryFolder folder;
  const RunConfig c = run_config(folder);
  EXPECT_EQ(run(c), 0);
  EXPECT_EQ(target(c, "latest"), "step-00000006");
  EXPECT_EQ(target(c, "best"), "step-00000006");  // six first steps: each validation is better
}

TEST(Run, KeepsNothingOfTheDeviceThatItRanOn) {
  const TemporaryFolder folder;
  RunConfig c = run_config(folder);
  c.train.steps = 1;
  run(c);
  const RunConfig config = kept_config(c.train.output);
  EXPECT_EQ(config.device, DeviceChoice::automatic);
  EXPECT_FALSE(config.parallel.share_gpu);
  EXPECT_TRUE(config.parallel.bind);
  EXPECT_EQ(config.parallel.dp, 1);
}

TEST(Run, SavesAbsolutePathsWhichAreNotAChangeOfRelativeOnes) {
  const TemporaryFolder folder;
  RunConfig c = run_config(folder);
  const std::string absolute = c.data.train;
  c.data.train = fs::relative(absolute).string(), c.data.valid = "", c.train.steps = 1;
  run(c);
  EXPECT_EQ(kept_config(c.train.output).data.train, absolute);
  EXPECT_EQ(kept_config(c.train.output + "/checkpoints/latest").data.train, absolute);
  for (const std::string& again : {c.data.train, absolute}) {
    c.data.train = again, ++c.train.steps;
    ::testing::internal::CaptureStderr();
    run(c);
    const std::string said = ::testing::internal::GetCapturedStderr();
    EXPECT_TRUE(holds(said, "changed since the checkpoint: train.steps")) << said;
    EXPECT_FALSE(holds(said, "changed since the checkpoint: data.train")) << said;
  }
  RunConfig before = c;  // as an older version saved it
  before.data.train = fs::relative(absolute).string();
  for (const ChangedOption& o : changed_options(with_absolute_paths(before), with_absolute_paths(c)))
    ADD_FAILURE() << o.name;
}

TEST(Run, StopsWhenPatienceIsOut) {
  const TemporaryFolder folder;
  RunConfig c = run_config(folder);
  c.train.steps = 1000, c.train.patience = 2, c.schedule.lr = 0;  // it never improves
  EXPECT_EQ(run(c), 0);
  EXPECT_EQ(logged(c, "loss").back(), 6);
  EXPECT_EQ(target(c, "best"), "step-00000002");
  EXPECT_TRUE(fs::exists(c.train.output + "/checkpoints/step-00000002"));
}

TEST(Run, AFinishedRunIsLeftAsItIs) {
  const TemporaryFolder folder;
  const RunConfig c = run_config(folder);
  run(c);
  EXPECT_EQ(run(c), 0);
  EXPECT_EQ(logged(c, "loss").size(), 6u);
}

TEST(Run, ARefusedStartLeavesAFinishedRunFinished) {
  const TemporaryFolder folder;
  RunConfig c = run_config(folder);
  run(c);
  c.train.seed = 7;
  refusal_of_run(c);
  EXPECT_TRUE(fs::exists(c.train.output + "/finished"));
}

TEST(Run, AStopOnRequestIsNotedUntilTheNextStart) {
  const TemporaryFolder folder;
  RunConfig c = run_config(folder);
  const std::string note = c.train.output + "/stopped";
  {
    const SignalWatch until_the_run_handles_signals;
    std::raise(SIGTERM);
    EXPECT_EQ(run(c), 128 + SIGTERM);
  }
  EXPECT_TRUE(fs::exists(note));
  EXPECT_EQ(run(c), 0);
  EXPECT_FALSE(fs::exists(note));
}

TEST(Run, AStartThatMakesNoStepLeavesTheConfigurationAsItIs) {
  const TemporaryFolder folder;
  RunConfig c = run_config(folder);
  run(c);
  write_file_atomically(c.train.output + "/config.cfg", read_file(c.train.output + "/config.cfg") + "# as it was");
  run(c);
  EXPECT_TRUE(read_file(c.train.output + "/config.cfg").ends_with("# as it was"));
  ++c.train.steps;
  run(c);
  EXPECT_FALSE(read_file(c.train.output + "/config.cfg").ends_with("# as it was"));
}

TEST(Run, RefusesAFolderWithCheckpointsOrACorpusButNoRun) {
  const TemporaryFolder folder;
  RunConfig c = run_config(folder);
  c.train.output = folder / "average";
  fs::create_directories(c.train.output + "/step-00000003");
  EXPECT_EQ(refusal_of_run(c),
            "train.output = " + c.train.output + " contains checkpoints, but not a run: give a different folder");
  c.train.output = c.data.train;
  EXPECT_EQ(refusal_of_run(c),
            "train.output = " + c.data.train + " contains a packed corpus, but not a run: give a different folder");
  EXPECT_FALSE(fs::exists(c.data.train + "/checkpoints"));
}

TEST(Run, AFinishedRunWhoseEventFilesHaveNoPlaceStaysAsItIs) {
  const TemporaryFolder folder;
  RunConfig c = run_config(folder);
  c.train.tensorboard = false;
  run(c);
  write_file_atomically(c.train.output + "/tensorboard", "");
  write_file_atomically(c.train.output + "/config.cfg", read_file(c.train.output + "/config.cfg") + "# as it was");
  c.train.tensorboard = true, c.train.steps = 8;
  const std::string said = refusal_of(ErrorKind::io, [&] { run(c); });
  EXPECT_NE(said.find("--train.tensorboard=false"), std::string::npos) << said;
  EXPECT_TRUE(fs::exists(c.train.output + "/finished"));
  EXPECT_TRUE(read_file(c.train.output + "/config.cfg").ends_with("# as it was"));
}

TEST(Run, FreshSetsTheOldRunAsideAndIsNotSaved) {
  const TemporaryFolder folder;
  RunConfig c = run_config(folder);
  run(c);
  c.train.fresh = true, c.train.steps = 2;
  run(c);
  EXPECT_TRUE(fs::exists(c.train.output + "/checkpoints.old/step-00000006"));
  EXPECT_EQ(read_event_log(c.train.output + "/log.jsonl.old").size(), 10u);  // and the start
  EXPECT_EQ(logged(c, "loss").size(), 2u);
  EXPECT_FALSE(kept_config(c.train.output).train.fresh);
}

TEST(Run, RefusesToResumeAsAnotherModelOfTheSameShapes) {
  const TemporaryFolder folder;
  RunConfig c = run_config(folder);
  run(c);
  c.model.activation = FeedForwardActivation::gelu;
  EXPECT_NE(refusal_of_run(c).find("model.activation = relu, but the new value is gelu"), std::string::npos);
  c.model.activation = FeedForwardActivation::relu, c.model.norm_kind = NormKind::rms;  // other tensors, too
  EXPECT_NE(refusal_of_run(c).find("model.norm_kind = layer, but the new value is rms"), std::string::npos);
}

TEST(Run, RefusesToResumeAsAModelOfOtherSizesByTheOptionsName) {
  const TemporaryFolder folder;
  RunConfig c = run_config(folder);
  run(c);
  c.model.heads *= 2;  // the same shapes
  EXPECT_NE(refusal_of_run(c).find(
                fmt::format("model.heads = {}, but the new value is {}", c.model.heads / 2, c.model.heads)),
            std::string::npos);
  c.model.heads /= 2, c.model.feed_forward *= 2;
  EXPECT_NE(refusal_of_run(c).find("model.feed_forward = "), std::string::npos);
}

TEST(Run, RefusesAFolderThatAnotherRunHolds) {
  const TemporaryFolder folder;
  const RunConfig c = run_config(folder);
  const RunFolder held(c.train.output, /*fresh=*/false);
  EXPECT_NE(refusal_of_run(c).find("another run is using"), std::string::npos);
}

TEST(Run, RefusesOptionsThatWouldDoNothing) {
  const TemporaryFolder folder;
  RunConfig c = run_config(folder);
  c.data.valid = "", c.train.patience = 3;
  EXPECT_NE(refusal_of_run(c).find("train.patience = 3 needs validations"), std::string::npos);
}

TEST(Run, RefusesValuesOutOfRange) {
  const TemporaryFolder folder;
  RunConfig c = run_config(folder);
  c.train.label_smoothing = 7;
  EXPECT_EQ(refusal_of_run(c), "train.label_smoothing = 7 must be in [0, 1)");
}

TEST(Run, EndsAfterFiveStepsInARowThatAreNotFinite) {
  const TemporaryFolder folder;
  RunConfig c = run_config(folder);
  c.schedule.lr = 1e30, c.schedule.warmup = 0, c.schedule.kind = ScheduleKind::constant;  // ruins it in the first step
  c.train.steps = 100, c.train.validate_every = c.train.save_every = 0;
  const std::string said = message_of(ErrorKind::diverged, [&] { run(c); });
  EXPECT_NE(said.find("5 steps in a row had gradients that are not finite"), std::string::npos) << said;
  EXPECT_NE(said.find("block 0 on rank 0: the gradient of "), std::string::npos) << said;
  EXPECT_EQ(logged(c, "skipped"), (std::vector<int64_t>{2, 3, 4, 5, 6}));
}

TEST(Run, SavesAfterSoManyMinutesOfTraining) {
  const TemporaryFolder folder;
  RunConfig c = run_config(folder);
  c.train.steps = 4, c.train.save_every = c.train.validate_every = 0, c.train.keep_last = 10;
  c.train.save_minutes = 1e-9;  // over after each step; the next step's ranks agree on the save
  EXPECT_EQ(run(c), 0);
  for (const char* step : {"step-00000002", "step-00000004"})
    EXPECT_TRUE(fs::exists(c.train.output + "/checkpoints/" + step)) << step;
}

// The validation losses that a run logged, by step.
std::vector<std::pair<int64_t, double>> validations(const RunConfig& c) {
  std::vector<std::pair<int64_t, double>> all;
  for (const auto& record : read_event_log(c.train.output + "/log.jsonl"))
    if (record.contains("valid_loss")) all.emplace_back(record.at("step"), record.at("valid_loss"));
  return all;
}

int run_and_stop_before_step_1(const RunConfig& c) {
  const SignalWatch watch;  // with which the run shares what comes before it starts
  std::raise(SIGTERM);
  return run(c);
}

TEST(Run, AStopPutsOffTheValidationUntilTheRunResumes) {
  const TemporaryFolder folder, undisturbed_folder;
  RunConfig c = run_config(folder), undisturbed = run_config(undisturbed_folder);
  c.train.validate_every = undisturbed.train.validate_every = 1;
  c.train.steps = undisturbed.train.steps = 3;
  EXPECT_EQ(run_and_stop_before_step_1(c), 128 + SIGTERM);
  EXPECT_TRUE(validations(c).empty());
  EXPECT_EQ(run(c), 0);
  EXPECT_EQ(run(undisturbed), 0);
  EXPECT_EQ(validations(c), validations(undisturbed));
  EXPECT_EQ(validations(c).size(), 3u);
}

TEST(Run, AStopAfterTheLastStepPutsOffItsValidationToo) {
  const TemporaryFolder folder;
  RunConfig c = run_config(folder);
  c.train.steps = 1;  // no multiple of validate_every
  EXPECT_EQ(run_and_stop_before_step_1(c), 128 + SIGTERM);
  EXPECT_TRUE(validations(c).empty());
  for (const char* start : {"the next start", "another one"}) {
    EXPECT_EQ(run(c), 0) << start;
    EXPECT_EQ(validations(c).size(), 1u) << start;
  }
}

}  // namespace
}  // namespace weft::testing
