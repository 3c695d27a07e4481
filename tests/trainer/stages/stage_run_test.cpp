// tests/trainer/stages/stage_run_test.cpp: stages end with the step that they name, and a run goes on in them as it
// must.
#include "trainer/stages/stage_run.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/support/errors.h"
#include "tests/support/resolved.h"
#include "tests/support/synthetic_corpus.h"
#include "tests/support/synthetic_lengths.h"

namespace weft {
namespace {

using testing::expect_error;
using testing::synthetic_lengths;
using testing::SyntheticCorpus;

std::vector<CorpusTotals> passed(const std::vector<int64_t>& pairs) {
  std::vector<CorpusTotals> totals;
  for (const int64_t n : pairs) totals.push_back({.passed = n});
  return totals;
}

StageRun begun(const RunConfig& config) { return StageRun(testing::open_stages(config)); }

class Stages : public ::testing::Test {
 protected:
  StageConfig stage(const char* name, const std::string& mix) const { return {.name = name, .mix = mix}; }
  RunConfig config(std::vector<StageConfig> stages) const {
    RunConfig c;
    c.stages = std::move(stages);
    return c;
  }
  void expect_refused(const RunConfig& c, const std::vector<std::string>& why) const {
    expect_error([&] { StageRun run = begun(c); }, ErrorKind::usage, why);
  }

  const SyntheticCorpus a_{synthetic_lengths(100, 1)}, b_{synthetic_lengths(40, 2)}, c_{synthetic_lengths(7, 3)};
  const std::string a = a_.folder(), b = b_.folder(), c = c_.folder();
};

TEST_F(Stages, EndAfterTheirStepsTokensOrEpochs) {
  StageConfig steps = stage("steps", a), tokens = stage("tokens", a + ":3," + b), epochs = stage("epochs", a + "," + c);
  steps.steps = 3, tokens.tokens = 500, epochs.epochs = c + ":2";
  StageRun run = begun(config({steps, tokens, epochs, stage("last", b)}));
  StepCursor cursor;
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(run.is_over());
    run.add_step(1000, {});
  }
  EXPECT_TRUE(run.is_over());
  run.advance(cursor);
  run.add_step(499, {});
  EXPECT_FALSE(run.is_over());
  run.add_step(1, {});
  EXPECT_TRUE(run.is_over());
  run.advance(cursor);
  EXPECT_EQ(run.stage().name, "epochs");
  run.add_step(1, passed({1000, 13}));
  EXPECT_FALSE(run.is_over());
  run.add_step(1, passed({0, 1}));
  EXPECT_TRUE(run.is_over());
  run.advance(cursor);
  EXPECT_TRUE(run.is_last());
  EXPECT_FALSE(run.is_over());
  EXPECT_EQ(run.state().stages.back().first_step, 7);
}

TEST_F(Stages, OfOneCorpusNeedOnlyTheNumberOfItsEpochs) {
  RunConfig plain;
  plain.data.train = c, plain.train.epochs = "2";
  StageConfig staged = stage("1", c);
  staged.epochs = "2";
  for (const RunConfig& config : {plain, config({staged})}) {
    StageRun run = begun(config);
    run.add_step(1, passed({13}));
    EXPECT_FALSE(run.is_over());
    run.add_step(1, passed({1}));
    EXPECT_TRUE(run.is_over());
  }
}

TEST_F(Stages, AreNotEndedByTheEpochsOfDataTrain) {
  RunConfig both = config({stage("last", b)});
  both.train.epochs = "2";
  expect_refused(both, {"train.epochs = 2 counts epochs of data.train", "use stage.NAME.epochs"});
  RunConfig mix;
  mix.data.train = a + "," + b, mix.train.epochs = "2";
  expect_refused(mix, {"train.epochs = '2' must be FOLDER:EPOCHS, such as " + a + ":2"});
  mix.train.epochs = c + ":2";
  expect_refused(mix, {"train.epochs names ", "which is not in data.train = "});
}

TEST_F(Stages, NumberCorporaInTheOrderInWhichTheyAreNamed) {
  StageConfig first = stage("1", b + "," + a);
  first.steps = 1;
  StageRun run = begun(config({first, stage("2", c + "," + a)}));
  StepCursor cursor{.num_streams = 1, .streams = {{0, {.corpora = {{}, {}}, .turns = {1, -1}, .begins = {1, -1}}}}};
  run.advance(cursor);
  std::vector<std::string> folders;
  for (const RunCorpus& corpus : run.state().corpora) folders.push_back(corpus.folder);
  EXPECT_EQ(folders, (std::vector<std::string>{b, a, c}));
  EXPECT_EQ(run.mix().corpora.at(0).number, 2);
  EXPECT_EQ(run.mix().corpora.at(1).number, 1);
  EXPECT_TRUE(cursor.streams[0].turns.empty());
}

TEST_F(Stages, GoOnFromACheckpoint) {
  StageConfig first = stage("1", a), second = stage("2", a + ":2," + b);
  first.steps = 1, second.epochs = b + ":1";
  StageRun run = begun(config({first, second, stage("3", c)}));
  StepCursor cursor;
  run.add_step(10, passed({5}));
  run.advance(cursor);
  run.add_step(10, passed({60, 30}));
  const StageState saved = nlohmann::json(run.state()).get<StageState>();
  StageRun resumed = begun(config({first, second, stage("3", c)}));
  EXPECT_TRUE(resumed.resume(saved, cursor).empty());
  EXPECT_EQ(nlohmann::json(resumed.state()), nlohmann::json(run.state()));
  resumed.add_step(10, passed({20, 10}));
  EXPECT_TRUE(resumed.is_over());
}

TEST_F(Stages, MayBeAppendedAndTheLastOneChangedButNotThePast) {
  StageConfig first = stage("1", a + ":2," + b), second = stage("2", b);
  first.steps = 1;
  StageRun run = begun(config({first, second}));
  StepCursor cursor;
  run.add_step(10, {});
  run.advance(cursor);
  run.add_step(10, {});
  const StageState saved = run.state();
  second.steps = 5;
  EXPECT_TRUE(begun(config({first, second, stage("3", c)})).resume(saved, cursor).empty());
  StageRun changed = begun(config({first, stage("2", c + ":3," + a)}));
  const std::vector<std::string> said = changed.resume(saved, cursor);
  ASSERT_EQ(said.size(), 1u);
  EXPECT_NE(said[0].find("stage 2 continues with a different mix: 2: " + c + ":3," + a + ":1 (was 2: " + b + ")"),
            std::string::npos)
      << said[0];
  EXPECT_EQ(changed.mix().corpora.at(1).number, 0);  // as the checkpoint numbers it
  StageRun rewritten = begun(config({[&] {
                                       StageConfig other = first;
                                       other.mix = a + ":3," + b;
                                       return other;
                                     }(),
                                     second}));
  expect_error([&] { rewritten.resume(saved, cursor); }, ErrorKind::usage,
               {"finished stage 1 of the run was 1: " + a + ":2,", "finished stages cannot change"});
  StageRun fewer = begun(config({stage("1", a)}));
  expect_error([&] { fewer.resume(saved, cursor); }, ErrorKind::usage,
               {"the run is in stage 2, but the options end with stage 1"});
}

TEST_F(Stages, ThatHaveBegunKeepTheirNamesAndTheirOrder) {
  StageConfig first = stage("1", a), second = stage("2", b), other = stage("other", a);
  first.steps = 1, second.steps = 9, other.steps = 1;
  StageRun run = begun(config({first, second}));
  StepCursor cursor;
  run.add_step(10, {});
  run.advance(cursor);
  const StageState saved = run.state();
  const auto refused = [&](std::vector<StageConfig> stages, const char* why) {
    StageRun now = begun(config(std::move(stages)));
    expect_error([&] { now.resume(saved, cursor); }, ErrorKind::usage,
                 {why, "stages that have started must keep their names and order, so append new stages"});
  };
  refused({other, first, second}, "stage 1 of the run was 1, but the options give other");
  refused({first, other, second}, "stage 2 of the run was 2, but the options give other");
  refused({other, second}, "stage 1 of the run was 1, but the options give other");
  refused({first, other}, "stage 2 of the run was 2, but the options give other");
  EXPECT_TRUE(begun(config({first, second, other})).resume(saved, cursor).empty());
}

// Appends a line to the manifest, which changes its digest.
void change_manifest(const std::string& folder) { std::ofstream(folder + "/manifest.json", std::ios::app) << '\n'; }

TEST_F(Stages, DoNotGoOnWithACorpusThatHasGrown) {
  StageConfig first = stage("1", a), second = stage("2", a + ":2," + b);
  first.steps = second.steps = 1;
  StageRun run = begun(config({first, second, stage("3", c)}));
  StepCursor cursor;
  run.add_step(10, {});
  run.advance(cursor);
  const StageState saved = run.state();
  change_manifest(c);
  const std::vector<std::string> said = begun(config({first, second, stage("3", c)})).resume(saved, cursor);
  ASSERT_EQ(said.size(), 1u);
  EXPECT_EQ(said[0], c + " has changed since the run started: its manifest.json differs, for example after `weft pack "
                         "--append`; the run continues, because no stage has used this corpus yet");
  const auto refused = [&](const std::string& grown) {
    StageRun resumed = begun(config({first, second}));
    expect_error([&] { resumed.resume(saved, cursor); }, ErrorKind::usage,
                 {grown + " has changed since the run started", "use the old corpus, or start a new run"});
  };
  change_manifest(b);
  refused(b);
  change_manifest(a);
  first.mix = a + "/.", second.mix = a + "/.:2," + b;  // under another name
  refused(a + "/.");
  RunConfig plain;
  plain.data.train = c;
  const StageState one = begun(plain).state();
  change_manifest(c);
  StageRun resumed = begun(plain);
  expect_error([&] { resumed.resume(one, cursor); }, ErrorKind::usage, {c + " has changed since the run"});
}

TEST_F(Stages, GoOnWithThePairsThatTheRunBeganWith) {
  StageConfig first = stage("1", a);
  first.steps = 1;
  StageRun run = begun(config({first, stage("2", b + "," + a)}));
  StepCursor cursor;
  run.add_step(10, {});
  change_manifest(a), change_manifest(b);
  run.advance(cursor);
  EXPECT_EQ(run.mix().corpora.at(0).number, 1);
  EXPECT_EQ(run.mix().corpora.at(1).number, 0);
  EXPECT_EQ(run.state().corpora.size(), 2u);
}

TEST_F(Stages, HaveAsManyStreamsAsSuitTheOneWithMostPairs) {
  BatchConfig batch;
  batch.blocks = 8, batch.page = batch.look_ahead = 2;
  StageConfig small = stage("small", c), large = stage("large", a + "," + b);
  small.steps = large.steps = 1;
  EXPECT_EQ(begun(config({small})).start(batch).num_streams, 1);  // 7 pairs, 8 for each stream
  for (const auto& stages : {std::vector{small, large}, {large, small}}) {
    const StepCursor start = begun(config(stages)).start(batch);
    EXPECT_EQ(start.num_streams, 8);
    EXPECT_EQ(start.streams.size(), 8u);
    EXPECT_EQ(start.streams.at(7), StreamCursor());
  }
}

TEST_F(Stages, TellTheLastStepOfTheRun) {
  StageConfig first = stage("1", a), second = stage("2", a + "," + c), third = stage("3", b);
  first.steps = 4, second.tokens = 500, second.epochs = c + ":2";
  StageRun run = begun(config({first, second, third}));
  StepCursor cursor;
  EXPECT_EQ(run.last_step(50), 50);
  for (int i = 0; i < 4; ++i) run.add_step(1, {});
  run.advance(cursor);
  EXPECT_EQ(run.expected_end(), std::nullopt);  // the third has no end
  third.steps = 7;
  run = begun(config({first, second, third}));
  for (int i = 0; i < 4; ++i) run.add_step(1, {});
  run.advance(cursor);
  EXPECT_EQ(run.expected_end(), std::nullopt);  // nothing is known of the second
  run.add_step(50, passed({0, 1}));             // of 500 tokens and of 14 pairs
  EXPECT_EQ(run.expected_end(), 4 + 10 + 7);
  run.add_step(50, passed({0, 6}));
  EXPECT_EQ(run.expected_end(), 4 + 4 + 7);
  EXPECT_EQ(run.last_step(50), 50);
  run.advance(cursor);
  EXPECT_EQ(run.last_step(50), 4 + 2 + 7);
  EXPECT_EQ(run.expected_end(), 4 + 2 + 7);
  EXPECT_EQ(run.last_step(9), 9);
}

TEST_F(Stages, TellAPlanWhenTheyBeginAndOverHowManyStepsTheyDecay) {
  StageConfig first = stage("1", a), second = stage("2", a), third = stage("3", a);
  first.steps = 30, second.steps = 20, second.tokens = 9;
  const std::vector<Stage> stages = parse_stages(config({first, second, third}));
  EXPECT_EQ(steps_before(stages, 0), 0);
  EXPECT_EQ(steps_before(stages, 1), 30);
  EXPECT_EQ(steps_before(stages, 2), std::nullopt);
  EXPECT_EQ(steps_to_decay(stages, 1, 100), 20);
  EXPECT_EQ(steps_to_decay(stages, 2, 100), std::nullopt);
  second.tokens = 0;
  EXPECT_EQ(steps_to_decay(parse_stages(config({first, second, third})), 2, 100), 50);
}

TEST_F(Stages, KeepTheirLeastScoresAsTheyKeepTheirMix) {
  StageConfig first = stage("1", a), second = stage("2", a + "," + b);
  first.steps = 1, first.min_score = "0.7", second.min_score = b + ":-2";
  StageRun run = begun(config({first, second}));
  StepCursor cursor;
  EXPECT_EQ(run.mix().corpora.at(0).min_score, 0.7f);
  run.add_step(10, {});
  run.advance(cursor);
  EXPECT_EQ(run.mix().corpora.at(0).min_score, std::nullopt);
  EXPECT_EQ(run.mix().corpora.at(1).min_score, -2);
  const StageState saved = nlohmann::json(run.state()).get<StageState>();
  EXPECT_TRUE(begun(config({first, second})).resume(saved, cursor).empty());
  second.min_score = b + ":-1";
  const std::vector<std::string> said = begun(config({first, second})).resume(saved, cursor);
  ASSERT_EQ(said.size(), 1u);
  EXPECT_NE(said[0].find("with min_score = " + b + ":-1 (was 2: "), std::string::npos) << said[0];
  first.min_score = "0.8";
  StageRun rewritten = begun(config({first, second}));
  expect_error([&] { rewritten.resume(saved, cursor); }, ErrorKind::usage,
               {"finished stage 1 of the run was 1: " + a + " with min_score = " + a + ":0.7, but the options give"});
}

TEST_F(Stages, OfOneCorpusKeepItsLeastScore) {
  RunConfig plain;
  plain.data.train = a;
  StageRun run = begun(plain);
  StepCursor cursor;
  const StageState saved = run.state();
  plain.data.min_score = "0.5";
  StageRun scored = begun(plain);
  expect_error(
      [&] { scored.resume(saved, cursor); }, ErrorKind::usage,
      {"the run started with data.train = " + a + ", but the option is now " + a + " with min_score = " + a + ":0.5"});
  plain.data.train = "";
  plain.stages = {stage("1", a)};
  expect_error([&] { StageRun none = begun(plain); }, ErrorKind::usage,
               {"data.min_score = 0.5", "use stage.NAME.min_score"});
}

TEST_F(Stages, GoOnFromARunWithoutStages) {
  StageConfig first = stage("1", a);
  first.steps = 6;
  StepCursor cursor;
  RunConfig plain;
  plain.data.train = a;
  StageRun run = begun(plain);
  for (int i = 0; i < 6; ++i) run.add_step(10, {});
  StageRun by_steps = begun(config({first, stage("2", b)}));
  EXPECT_TRUE(by_steps.resume(run.state(), cursor).empty());
  EXPECT_TRUE(by_steps.is_over());
  first.steps = 0, first.tokens = 60;
  StageRun by_tokens = begun(config({first, stage("2", b)}));
  EXPECT_TRUE(by_tokens.resume(run.state(), cursor).empty());
  EXPECT_TRUE(by_tokens.is_over());
  plain.data.train = a + "," + b;
  StageRun other = begun(plain);
  expect_error([&] { other.resume(run.state(), cursor); }, ErrorKind::usage,
               {"the run started with data.train = " + a + ", but the option is now " + a + ":1," + b + ":1"});
  StageRun without_its_mix = begun(config({stage("1", b)}));
  expect_error([&] { without_its_mix.resume(run.state(), cursor); }, ErrorKind::usage,
               {"the run started with data.train = " + a + ", but the option is now 1: " + b});
}

TEST_F(Stages, HaveTheScheduleThatBeganLast) {
  StageConfig first = stage("1", a), second = stage("2", a), third = stage("3", a);
  first.steps = second.steps = 4;
  second.has_schedule = true, second.schedule.lr = 5;
  RunConfig c = config({first, second, third});
  c.train.steps = 100;
  StageRun run = begun(c);
  StepCursor cursor;
  const auto begin = [&] { return run.schedule(c).first_step; };
  EXPECT_EQ(begin(), 0);
  EXPECT_EQ(run.schedule(c).total_steps, 100);
  EXPECT_EQ(run.schedule(c).section, "schedule");
  for (int i = 0; i < 4; ++i) run.add_step(1, {});
  run.set_clock(0.1);
  EXPECT_EQ(run.schedule(c).total_steps, 40) << "train.minutes end the run";
  run.set_clock(0.5);
  run.advance(cursor);
  EXPECT_EQ(begin(), 4);
  EXPECT_EQ(run.schedule(c).schedule.lr, 5);
  EXPECT_EQ(run.schedule(c).total_steps, 4) << "the end of the stage and of the run";
  EXPECT_EQ(run.schedule(c).section, "stage.2.schedule");
  for (int i = 0; i < 4; ++i) run.add_step(1, {});
  run.advance(cursor);
  EXPECT_EQ(begin(), 4);
}

TEST_F(Stages, ThatMeanNothingAreRefused) {
  const StageConfig good = stage("last", b);
  const auto with = [&](auto change) {
    StageConfig first = stage("1", a);
    change(first);
    return config({first, good});
  };
  expect_refused(with([](StageConfig&) {}), {"stage.1 has no end, but is not the last stage", "stage.1.steps"});
  expect_refused(with([](StageConfig& s) { s.steps = -1; }), {"stage.1.steps must be at least 0, but is -1"});
  expect_refused(with([](StageConfig& s) { s.tokens = -1; }), {"stage.1.tokens must be at least 0, but is -1"});
  expect_refused(with([](StageConfig& s) { s.mix = ""; }), {"stage.1.mix is not set"});
  expect_refused(with([](StageConfig& s) { s.mix = "a:0,b"; }), {"stage.1.mix: the weight of 'a' is '0'"});
  for (const char* epochs : {"0", "x:0", "x:two", "x:1.5", "x:3000000"})
    expect_refused(with([&](StageConfig& s) { s.epochs = epochs; }),
                   {"stage.1.epochs = ", "must be a number of epochs or FOLDER:EPOCHS", "with 1 to 1048576 epochs"});
  expect_refused(with([&](StageConfig& s) { s.epochs = b + ":1"; }), {"which is not in stage.1.mix"});
  expect_refused(with([&](StageConfig& s) { s.steps = 1, s.mix = a + "," + a + "/."; }), {"are the same corpus"});
  RunConfig both = config({good});
  both.data.train = a;
  expect_refused(both, {"data.train = " + a + " and stage.last are both given"});
  RunConfig missing = config({stage("1", "nowhere")});
  expect_error([&] { StageRun run = begun(missing); }, ErrorKind::data, {"nowhere/manifest.json"});
}

}  // namespace
}  // namespace weft
