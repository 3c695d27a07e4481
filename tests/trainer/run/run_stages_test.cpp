// tests/trainer/run/run_stages_test.cpp: runs on mixes and in stages: their logs and plans, patience, the learning
// rate, what may change when they resume, and what is refused before the first step.
#include <algorithm>
#include <filesystem>

#include "data/atomic_file.h"
#include "tests/trainer/run/staged_run.h"

namespace weft::testing {
namespace {

namespace fs = std::filesystem;

TEST_F(StagedRun, LogsTheStageAndTheEpochsOfItsCorpora) {
  run();
  const auto steps = log("loss");
  ASSERT_EQ(steps.size(), 6u);
  for (size_t i = 0; i < 6; ++i) EXPECT_EQ(steps[i].at("stage"), i < 3 ? "first" : "last");
  EXPECT_TRUE(steps[2].at("epochs").contains(a_));
  EXPECT_EQ(steps[2].at("corpus_nll").at(a_), steps[2].at("nll"));  // it has no other corpus
  EXPECT_TRUE(steps[5].at("epochs").contains(a_));
  EXPECT_GT(steps[5].at("epochs").at(b_), 0);
  const auto& losses = steps[5].at("corpus_nll");  // their mean is that of the step
  const double lowest = std::min(losses.at(a_).get<double>(), losses.at(b_).get<double>());
  const double highest = std::max(losses.at(a_).get<double>(), losses.at(b_).get<double>());
  EXPECT_LT(lowest, steps[5].at("nll"));
  EXPECT_GT(highest, steps[5].at("nll"));
  const std::string plan = log("plan").at(0).at("plan");
  EXPECT_TRUE(holds(plan, "stage 1 of 2, first: 3 steps")) << plan;
  EXPECT_TRUE(holds(plan, "stage 2 of 2, last: no end")) << plan;
  EXPECT_TRUE(holds(plan, "  75.0 % of the pairs from " + a_ + ": 60 pairs")) << plan;
  EXPECT_TRUE(holds(plan, "  25.0 % of the pairs from " + b_ + ": 7 pairs")) << plan;
}

TEST_F(StagedRun, OfAMixAloneLogsTheEpochs) {
  config_.stages.clear();
  config_.data.train = a_ + "," + b_ + ":2";
  run();
  EXPECT_FALSE(log("loss").at(0).contains("stage"));
  EXPECT_TRUE(log("loss").at(0).at("epochs").contains(b_));
}

TEST_F(StagedRun, LogsACorpusUnderOneNameHoweverItIsSpelledLater) {
  const std::string spelled = fs::relative(a_).string();
  config_.stages.clear();
  config_.data.train = spelled + "," + b_, config_.train.steps = 2;
  run();
  config_.data.train = a_ + "," + b_, config_.train.steps = 4;  // as config.cfg spells it
  run();
  EXPECT_EQ(log("loss").size(), 4u);
  for (const auto& step : log("loss")) EXPECT_TRUE(step.at("epochs").contains(spelled)) << step;
}

TEST_F(StagedRun, EndsWithItsLastStage) {
  config_.stages[1].epochs = b_ + ":2";
  config_.train.steps = 1000;
  run();
  const size_t steps = log("loss").size();
  EXPECT_GT(steps, 3u);
  EXPECT_LT(steps, 20u);
  run();  // nothing is left to do
  EXPECT_EQ(log("loss").size(), steps);
}

TEST_F(StagedRun, BeginsPatienceInItsLastStageUnlessToldOtherwise) {
  config_.stages[0].steps = 8, config_.schedule.lr = 0;  // it never improves
  config_.train.steps = 1000, config_.train.patience = 2;
  run();
  EXPECT_EQ(log("loss").size(), 12u);
  config_.train.patience_from = PatienceFrom::start, config_.train.output = folder_ / "from the start";
  run();
  EXPECT_EQ(log("loss").size(), 6u);
}

TEST_F(StagedRun, BeginsPatienceInALastStageThatBeginsWhereItResumes) {
  config_.stages[0].steps = 1000, config_.schedule.lr = 0;
  config_.train.steps = 8, config_.train.patience = 3;
  run();  // three validations after the best one
  config_.stages[0].steps = 8, config_.train.steps = 1000;
  run();
  EXPECT_EQ(log("loss").size(), 14u);
}

// Its losses are higher than those of the pair that the run has learned by heart.
TEST_F(StagedRun, DoesNotJudgeAStageByTheLossesOfAnother) {
  const TextCorpus easy(/*num_pairs=*/1, 290, /*seed=*/4, large_corpus().folder());
  config_.stages = {{.name = "easy", .mix = easy.folder(), .steps = 60}, {.name = "hard", .mix = a_}};
  config_.data.valid = "", config_.schedule.lr = 1e-2;
  config_.train.steps = 85, config_.train.keep_last = 99, config_.train.divergence_rise = 0.5;
  run();
  const auto steps = log("loss");
  ASSERT_EQ(steps.size(), 85u);
  double before = 0, after = 1e9;
  for (size_t i = 40; i < 60; ++i) before += steps[i].at("nll").get<double>() / 20;
  for (size_t i = 60; i < 80; ++i) after = std::min(after, steps[i].at("nll").get<double>());
  EXPECT_GT(after, before + config_.train.divergence_rise);
  config_.stages[1].mix = easy.folder(), config_.train.steps = 120;  // another mix of the present stage
  run();
  config_.stages[1].mix = a_, config_.train.steps = 145;
  run();
  EXPECT_EQ(log("loss").size(), 145u);
}

TEST_F(StagedRun, JudgesAStageByTheLossesOfAnotherOnTheSameData) {
  config_.stages = {{.name = "good", .mix = a_, .steps = 40},
                    {.name = "ruined", .mix = a_, .has_schedule = true, .schedule = config_.schedule}};
  config_.stages[1].schedule.lr = 10;
  config_.data.valid = "", config_.train.steps = 200;
  EXPECT_TRUE(holds(message_of(ErrorKind::diverged, [&] { run(); }), "the run has diverged"));
}

TEST_F(StagedRun, SaysWhichStagesDoNotBegin) {
  config_.stages[1].steps = 3, config_.train.steps = 6;
  config_.stages.push_back({.name = "never", .mix = a_});
  ::testing::internal::CaptureStderr();
  run();
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_TRUE(holds(said, "stage 3 of 3, never: no end; NEVER STARTS: train.steps = 6 ends the run first")) << said;
  EXPECT_TRUE(
      holds(said, "the run has ended after step 6: train.steps = 6, in stage 2 of 3, last; never did not start"))
      << said;
}

TEST_F(StagedRun, SaysHowFarItsLastStageGoesAndWhichEpochsBegin) {
  config_.stages[1].steps = 17;
  config_.train.steps = 1000, config_.train.log_every = 2, config_.data.valid = "";
  ::testing::internal::CaptureStderr();
  run();
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_TRUE(holds(said, "step 20/20  stage 2/2 last")) << said;
  EXPECT_TRUE(holds(said, "epoch 1 starts; so far, blocks were filled to")) << said;  // of stage 1's only corpus
  EXPECT_TRUE(holds(said, "epoch 2 of " + a_ + " starts")) << said;
  EXPECT_TRUE(holds(said, " of " + b_ + " starts; so far, blocks were filled to")) << said;
}

TEST_F(StagedRun, ShowsTheEpochsAndLossesOfItsCorpora) {
  config_.train.log_every = 1, config_.data.valid = "";
  ::testing::internal::CaptureStderr();
  run();
  const std::string said = ::testing::internal::GetCapturedStderr();
  const auto last = log("loss").back();
  EXPECT_TRUE(
      holds(said, fmt::format("step 6/6  stage 2/2 last  epochs {} {}  nlls {:.2f} {:.2f}  loss",
                              last.at("epochs").at(a_).get<int64_t>(), last.at("epochs").at(b_).get<int64_t>(),
                              last.at("corpus_nll").at(a_).get<double>(), last.at("corpus_nll").at(b_).get<double>())))
      << said;
}

TEST_F(StagedRun, RestartsTheRateWhereAStageHasASchedule) {
  config_.stages[1].has_schedule = true;
  config_.stages[1].schedule.kind = ScheduleKind::linear;
  config_.stages[1].schedule.lr = 0.5, config_.stages[1].schedule.warmup = 2, config_.optimizer.clip_norm = 1e-6;
  run();
  std::vector<double> rates;
  for (const auto& step : log("loss")) rates.push_back(step.at("lr"));
  EXPECT_EQ(rates, (std::vector<double>{1e-3, 1e-3, 1e-3, 0.25, 0.5, 0}));
}

TEST_F(StagedRun, GoesOnWithStagesAppendedOrThePresentOneChanged) {
  run();
  config_.train.steps = 8;
  config_.stages[1].mix = b_ + "," + a_;
  config_.stages[1].steps = 4;
  config_.stages.push_back({.name = "more", .mix = b_});
  ::testing::internal::CaptureStderr();
  run();
  const std::string said = ::testing::internal::GetCapturedStderr();
  EXPECT_TRUE(holds(said, "stage 2 continues with a different mix: last: " + b_ + ":1," + a_ + ":1 (was last: "))
      << said;
  EXPECT_TRUE(holds(said, "changed since the checkpoint: stage.last.steps = 4 (was 0)")) << said;
  EXPECT_TRUE(holds(said, "changed since the checkpoint: stage.more.mix = " + b_ + " (was not given)")) << said;
  const auto steps = log("loss");
  ASSERT_EQ(steps.size(), 8u);
  EXPECT_EQ(steps[6].at("stage"), "last");
  EXPECT_EQ(steps[7].at("stage"), "more");
  config_.train.steps = 9;
  config_.stages[0].mix = b_;
  EXPECT_TRUE(holds(refused(), "finished stage 1 of the run was first: " + a_ + ", but the options give first: " + b_));
}

TEST_F(StagedRun, KeepsTheShapeOfItsBlocksWithAnotherMix) {
  config_.batch.source_rows = 0, config_.train.steps = 2;
  run();
  config_.stages[0].mix = b_, config_.train.steps = 4;
  run();
  EXPECT_EQ(log("loss").size(), 4u);
  fs::remove(config_.train.output + "/checkpoints/latest");  // a start may have ended between a save and its link
  config_.train.steps = 6;
  run();
  EXPECT_EQ(log("loss").size(), 6u);
  write_file_atomically(config_.train.output + "/checkpoints/step-00000006/config.cfg", "");  // damaged
  config_.train.steps = 8;
  run();
  EXPECT_EQ(log("loss").size(), 8u);
}

TEST_F(StagedRun, HasSavedItsLastStepWhereTheNextStageCannotBegin) {
  const TextCorpus damaged(/*num_pairs=*/9, 290, /*seed=*/5, large_corpus().folder());
  const std::string shard = damaged.folder() + "/shard-00000.h5", whole = folder_ / "whole";
  fs::copy_file(shard, whole);
  config_.stages[1].mix = damaged.folder(), config_.train.save_every = 0, config_.data.valid = "";
  config_.train.output = folder_ / "undisturbed";
  run();
  const auto undisturbed = log("loss");
  config_.train.output = folder_ / "run";
  fs::resize_file(shard, 1000);
  const std::string why = refused(ErrorKind::data);
  EXPECT_TRUE(holds(why, "stage 2 of 2, last, cannot start after step 3: ")) << why;
  EXPECT_TRUE(holds(why, shard + " is damaged")) << why;
  EXPECT_TRUE(holds(why, "the run is saved")) << why;
  fs::remove(shard);
  EXPECT_TRUE(holds(refused(ErrorKind::data), "cannot start after step 3")) << refused(ErrorKind::data);
  EXPECT_EQ(log("loss").size(), 3u);
  fs::rename(whole, shard);
  run();
  const auto steps = log("loss");
  ASSERT_EQ(steps.size(), 6u);
  for (size_t i = 0; i < steps.size(); ++i) EXPECT_EQ(steps[i].at("loss"), undisturbed[i].at("loss"));
}

TEST_F(StagedRun, GoesOnFromARunWithoutStages) {
  config_.train.steps = 2;
  std::vector<StageConfig> stages = std::move(config_.stages);
  config_.stages.clear();
  config_.data.train = a_;
  run();
  config_.train.steps = 6;
  config_.data.train = a_ + "," + b_;
  EXPECT_TRUE(holds(refused(), "the run started with data.train = " + a_)) << refused();
  config_.data.train = "";
  config_.stages = std::move(stages);
  run();
  EXPECT_EQ(log("loss").back().at("stage"), "last");
  EXPECT_EQ(log("stage").size(), 4u);
}

TEST_F(StagedRun, TrainsOnPairsWithTheLeastScore) {
  const TextCorpus scored(60, 290, /*seed=*/3, large_corpus().folder(),
                          {.weight = {}, .score = [](int i) { return i % 4; }});
  config_.stages[0] = {.name = "first", .mix = scored.folder(), .min_score = "3", .steps = 3};
  config_.stages[1] = {.name = "last", .mix = a_ + "," + scored.folder(), .min_score = scored.folder() + ":1.5"};
  config_.train.steps = 5;
  run();
  const std::string plan = log("plan").at(0).at("plan");
  EXPECT_TRUE(holds(plan, "15 pairs (25.0 %) have a score of at least 3")) << plan;
  EXPECT_TRUE(holds(plan, "30 pairs (50.0 %) have a score of at least 1.5")) << plan;
  EXPECT_EQ(log("loss").size(), 5u);
}

TEST_F(StagedRun, RefusesLeastScoresThatNoPairHas) {
  const TextCorpus scored(60, 290, /*seed=*/3, large_corpus().folder(),
                          {.weight = {}, .score = [](int i) { return i % 4; }});
  config_.stages[1] = {.name = "last", .mix = a_ + "," + scored.folder(), .min_score = "1"};
  EXPECT_TRUE(holds(refused(), "stage.last.min_score: " + a_ + " was packed without scores: set the minimum only for"))
      << refused();
  config_.stages[1].min_score = scored.folder() + ":3.5";
  EXPECT_TRUE(holds(refused(ErrorKind::data),
                    "stage.last.min_score: no pair of " + scored.folder() + " has a score of at least 3.5"));
  EXPECT_FALSE(fs::exists(config_.train.output));
}

TEST_F(StagedRun, RefusesCorporaThatAreMissingOrUnfitBeforeItsFirstStep) {
  const TextCorpus other(/*num_pairs=*/60, 280, /*seed=*/9);
  config_.stages[1].mix = a_ + "," + other.folder();
  EXPECT_TRUE(
      holds(refused(), "stage.last.mix: " + other.folder() + " was packed with a different tokenizer than " + a_))
      << refused();
  config_.stages[1].mix = folder_ / "missing";
  EXPECT_TRUE(holds(refused(ErrorKind::data), "stage.last.mix: " + (folder_ / "missing") + "/manifest.json"));
  config_.stages[1].mix = b_;
  config_.batch.rows = config_.batch.source_rows = 2;
  EXPECT_TRUE(
      holds(refused(ErrorKind::data), "no pair fits into a block of 2 source and 2 target rows: raise batch.rows"));
  EXPECT_FALSE(fs::exists(config_.train.output));
}

TEST_F(StagedRun, NamesTheOptionWhoseFolderIsMissingOrUnfit) {
  config_.stages[1].mix = a_ + ":3," + (folder_ / "v:2,x");
  const std::string part = folder_ / "v";
  EXPECT_TRUE(holds(refused(ErrorKind::data), "stage.last.mix: " + part + "/manifest.json"))
      << refused(ErrorKind::data);
  EXPECT_TRUE(holds(refused(ErrorKind::data),
                    "if a folder's name contains a :, write / after it; if it contains a comma, use a link)"));
  config_.stages[1].mix = a_;
  config_.data.valid = "dev=" + a_ + ",news=nowhere";
  EXPECT_TRUE(holds(refused(ErrorKind::data), "data.valid, set news: nowhere/manifest.json"));
  config_.data.valid = "nowhere";
  EXPECT_TRUE(holds(refused(ErrorKind::data), "data.valid: nowhere/manifest.json"));
  const TextCorpus other(/*num_pairs=*/60, 280, /*seed=*/9);
  config_.data.valid = "dev=" + a_ + ",news=" + other.folder();
  EXPECT_TRUE(holds(refused(), "data.valid, set news: " + other.folder() +
                                   " was packed with a different tokenizer than the training data in " + a_ +
                                   ": pack it again with --tokenizer " + a_));
  config_.stages.clear();
  EXPECT_TRUE(holds(refused(), "no training data: set data.train, or the mix of a stage (stage.NAME.mix)"));
}

TEST_F(StagedRun, RefusesOptionsThatWouldHaveNoEffect) {
  config_.train.patience_from = PatienceFrom::start;
  EXPECT_TRUE(holds(refused(), "train.patience_from = start")) << refused();
  EXPECT_TRUE(holds(refused(), "set train.patience, or leave out train.patience_from"));
  config_.train.patience = 2;
  config_.stages.clear(), config_.data.train = a_;
  EXPECT_TRUE(holds(refused(), "set stage.NAME.mix, or leave out train.patience_from"));
  config_.train.patience_from = PatienceFrom::last_stage;
  config_.train.validate_command_minutes = 5;
  EXPECT_TRUE(holds(refused(), "train.validate_command_minutes = 5 applies only to train.validate_command"));
}

}  // namespace
}  // namespace weft::testing
