// tests/launch/reports/watch_screen_test.cpp: the screen of `weft watch`.
#include "launch/reports/watch_screen.h"

#include <gtest/gtest.h>

#include <sstream>

namespace weft {
namespace {

nlohmann::json step_record(int64_t step, double seconds = 2) {
  return {{"step", step},       {"epoch", 1},       {"loss", 3.5},         {"nll", 2.25},
          {"lr", 1e-3},         {"grad_norm", 0.5}, {"source_tokens", 90}, {"target_tokens", 100},
          {"seconds", seconds}, {"fill", 0.995},    {"mfu", 0.25},         {"roofline", 0.5}};
}

WatchedRun run_of_steps(int64_t count) {
  WatchedRun run{.name = "r1"};
  run.config.train.steps = 400;
  for (int64_t i = 1; i <= count; ++i) run.log.add(step_record(i));
  return run;
}

std::vector<std::string> lines_of(const WatchedRun& run, const ScreenSize& size = {}) {
  std::istringstream text(watch_screen(run, size, /*utf8=*/false));
  std::vector<std::string> lines;
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  return lines;
}

TEST(WatchScreen, HasProgressSpeedAndTheTimeLeft) {
  const std::vector<std::string> lines = lines_of(run_of_steps(100));
  EXPECT_EQ(lines[0], "run r1");
  EXPECT_TRUE(lines[1].starts_with("#####")) << lines[1];
  EXPECT_TRUE(lines[1].ends_with("- 25.0 %, 10m 00s left")) << lines[1];
  EXPECT_EQ(lines[2], "step 100 of 400, epoch 1: loss 3.5000  nll 2.2500  ppl 9.49");
  EXPECT_EQ(lines[3], "lr 1.00e-03  grad 0.500  src 45/s  tgt 50/s");
  EXPECT_EQ(lines[4], "fill 99.5 %  mfu 25.0 %  roofline 50.0 %");
}

TEST(WatchScreen, TakesSharesOfThePeakOverTheStepsOfTheSpeeds) {
  WatchedRun run = run_of_steps(1);
  nlohmann::json slower = step_record(2, /*seconds=*/6);
  slower["mfu"] = 0.05;
  run.log.add(slower);
  EXPECT_TRUE(lines_of(run)[3].ends_with("  tgt 25/s"));
  EXPECT_EQ(lines_of(run)[4], "fill 99.5 %  mfu 10.0 %  roofline 50.0 %");
}

TEST(WatchScreen, ShowsNoControlSequencesOfALog) {
  WatchedRun run = run_of_steps(1);
  nlohmann::json record = step_record(2);
  record["stage"] = "\x1b]0;title\x07";
  run.log.add(record);
  const std::string screen = watch_screen(run, {}, /*utf8=*/false);
  EXPECT_EQ(screen.find('\x1b'), std::string::npos);
  EXPECT_NE(screen.find("\\x1b]0;title\\x07"), std::string::npos) << screen;
}

TEST(WatchScreen, OfATerminalWithoutRowsIsEmpty) {
  EXPECT_EQ(watch_screen(run_of_steps(3), {.rows = -1}, /*utf8=*/false), "");
}

TEST(WatchScreen, OfARunInMinutesCountsThem) {
  WatchedRun run = run_of_steps(100);
  run.config.train.minutes = 5;
  EXPECT_TRUE(lines_of(run)[1].ends_with(" 66.7 %, 1m 40s left")) << lines_of(run)[1];
}

TEST(WatchScreen, ShowsTheLastAndTheBestValidation) {
  WatchedRun run = run_of_steps(3);
  run.log.add({{"step", 1}, {"valid_loss", 3.0}, {"bleu", 21.5}, {"chrf", 40.0}});
  run.log.add(
      {{"step", 2}, {"valid_loss", 2.5}, {"bleu", 20.0}, {"bleu_signature", "nrefs:1|tok:zh|eff:no"}, {"chrf", 41.0}});
  const std::string screen = watch_screen(run, {}, /*utf8=*/false);
  EXPECT_NE(screen.find("validation  step 2: loss 2.5000, BLEU 20.00 (zh), chrF2 41.00\n"
                        "best        step 1: loss 3.0000, BLEU 21.50, chrF2 40.00\n"),
            std::string::npos)
      << screen;
}

TEST(WatchScreen, ShowsEachNamedSetAndTheBestByTheRule) {
  WatchedRun run = run_of_steps(3);
  run.config.train.keep_best = "news.bleu";
  for (const int step : {1, 2})
    run.log.add({{"step", step},
                 {"sets", {"dev", "news"}},
                 {"valid_loss", 3.0},
                 {"bleu", 10 * step},
                 {"chrf", 40},
                 {"dev.loss", 3.0},
                 {"dev.bleu", 10 * step},
                 {"dev.chrf", 40},
                 {"news.loss", 2.5},
                 {"news.bleu", 30 - step},
                 {"news.bleu_signature", "tok:13a"},
                 {"news.chrf", 50}});
  const std::string screen = watch_screen(run, {.columns = 120}, /*utf8=*/false);
  EXPECT_NE(
      screen.find("validation  step 2: dev: loss 3.0000, BLEU 20.00, chrF2 40.00\n"
                  "            news: loss 2.5000, BLEU 28.00 (13a), chrF2 50.00\n"
                  "best        step 1: dev: loss 3.0000, BLEU 10.00, chrF2 40.00; news: loss 2.5000, BLEU 29.00 (13a)"),
      std::string::npos)
      << screen;
}

TEST(WatchScreen, ShowsScoresThatCameLater) {
  WatchedRun run = run_of_steps(3);
  run.config.train.keep_best = "score";
  for (const int step : {1, 2}) run.log.add({{"step", step}, {"valid_loss", 3.0}});
  run.log.add({{"step", 1}, {"score", 0.5}});
  const std::string screen = watch_screen(run, {}, /*utf8=*/false);
  EXPECT_NE(screen.find("validation  step 2: loss 3.0000\nbest        step 1: loss 3.0000, score 0.5\n"),
            std::string::npos)
      << screen;
}

TEST(WatchScreen, ShowsTheStageAndTheCorporaOfAMix) {
  WatchedRun run = run_of_steps(40);
  run.config.stages = {{.name = "all"}, {.name = "tune"}};
  for (int64_t i = 41; i <= 60; ++i) {
    nlohmann::json record = step_record(i);
    record["stage"] = "tune";
    record["epochs"] = {{"packed/clean", 3}, {"packed/crawl", 0}};
    record["corpus_nll"] = {{"packed/clean", 2.5}, {"packed/crawl", nullptr}};
    run.log.add(record);
  }
  const std::string screen = watch_screen(run, {}, /*utf8=*/false);
  EXPECT_NE(screen.find("\nstage tune (2 of 2), since step 41\n"), std::string::npos) << screen;
  EXPECT_NE(screen.find("\ncorpora     clean: epoch 3, nll 2.5000\n            crawl: epoch 0\n"), std::string::npos)
      << screen;
  EXPECT_LE(std::ranges::count(screen, '\n'), 24);
  EXPECT_NE(screen.find("step 1 "), std::string::npos) << "the chart has room: " << screen;
}

TEST(WatchScreen, CountsTheStepsToTheEndOfTheStages) {
  WatchedRun run;
  run.config.train.steps = 100000;
  for (int64_t i = 1; i <= 100; ++i) {
    nlohmann::json record = step_record(i);
    record["stages_end"] = 400;
    run.log.add(record);
  }
  const std::vector<std::string> lines = lines_of(run);
  EXPECT_TRUE(lines[1].ends_with("- 25.0 %, 10m 00s left")) << lines[1];
  EXPECT_TRUE(lines[2].starts_with("step 100 of 400, ")) << lines[2];
}

TEST(WatchScreen, NamesTheRankThatOthersWaitFor) {
  WatchedRun run = run_of_steps(1);
  nlohmann::json record = step_record(2);
  record["slowest_rank"] = 3, record["waiting"] = 0.125;
  run.log.add(record);
  EXPECT_NE(watch_screen(run, {}, false).find("other ranks wait 12.5 % of their time for rank 3\n"), std::string::npos);
}

TEST(WatchScreen, SaysThatARunIsSilentOrFinished) {
  WatchedRun run = run_of_steps(5);
  run.silent_seconds = 29;
  EXPECT_EQ(lines_of(run)[0], "run r1");
  run.silent_seconds = 90;
  EXPECT_EQ(lines_of(run)[0], "run r1: no log record for 1m 30s: stopped, or validation in progress");
  run.finished = true;
  EXPECT_EQ(lines_of(run)[0], "run r1: finished");
}

TEST(WatchScreen, FitsTheTerminal) {
  WatchedRun run = run_of_steps(100);
  run.latest = std::string(100, 'x');
  for (const ScreenSize size : {ScreenSize{30, 8}, ScreenSize{80, 24}, ScreenSize{200, 60}}) {
    const std::vector<std::string> lines = lines_of(run, size);
    EXPECT_LE(std::ssize(lines), size.rows);
    for (const std::string& line : lines) EXPECT_LE(std::ssize(line), size.columns) << line;
  }
}

TEST(WatchScreen, OfARunWithoutStepsSaysSo) { EXPECT_EQ(lines_of(run_of_steps(0))[1], "no step yet"); }

TEST(WatchScreen, PassesOverRecordsOfOtherKinds) {
  WatchedRun run = run_of_steps(5);
  const std::string before = watch_screen(run, {}, false);
  run.log.add({{"step", 5}, {"rolled_back_to", 3}});
  run.log.add({{"loss", "damaged"}});
  EXPECT_EQ(watch_screen(run, {}, false), before);
}

}  // namespace
}  // namespace weft
