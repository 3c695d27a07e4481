// tests/trainer/run/run_score_test.cpp: runs with train.validate_command: their log, what is best, and stops.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <fstream>
#include <thread>

#include "data/atomic_file.h"
#include "tests/trainer/run/text_run.h"

namespace weft::testing {
namespace {

RunConfig scored_config(const TemporaryFolder& folder, const std::string& command, const std::string& keep_best) {
  RunConfig c = run_config(folder);
  c.train.validate_command = command, c.train.keep_best = keep_best;
  return c;
}

std::vector<std::pair<int64_t, double>> scores_in(const RunConfig& c, const std::string& key = "score") {
  std::vector<std::pair<int64_t, double>> all;
  for (const auto& record : read_event_log(c.train.output + "/log.jsonl"))
    if (record.contains(key)) all.emplace_back(record.at("step"), record.at(key));
  return all;
}

using Scores = std::vector<std::pair<int64_t, double>>;

void run_on_ranks(const RunConfig& c) {
  run_thread_ranks(c.parallel.dp * c.parallel.tp, [&](Communicator& world) {
    set_num_threads(1);
    EXPECT_EQ(run_training(c, world), 0);
  });
}

TEST(RunScore, LogsTheNumberOfTheCommandForEachValidation) {
  const TemporaryFolder folder;
  const RunConfig c = scored_config(folder, "cat $WEFT_SOURCE $WEFT_HYPOTHESIS $WEFT_REFERENCE | wc -l", "loss");
  EXPECT_EQ(run(c), 0);
  EXPECT_EQ(scores_in(c), (Scores{{2, 12}, {4, 12}, {6, 12}})) << "three files of four sentences";
  EXPECT_EQ(target(c, "best"), "step-00000006") << "by the loss";
}

TEST(RunScore, OfNamedSetsHasTheirNames) {
  const TemporaryFolder folder;
  RunConfig c = scored_config(folder, "[ $WEFT_SET = dev ] && echo 1 || echo $WEFT_STEP", "0.5*dev.score+2*news.score");
  c.data.valid = "dev=" + c.data.train + ",news=" + c.data.train;
  EXPECT_EQ(run(c), 0);
  EXPECT_EQ(scores_in(c), (Scores{{2, 1}, {4, 1}, {6, 1}}));
  EXPECT_EQ(scores_in(c, "news.score"), (Scores{{2, 2}, {4, 4}, {6, 6}}));
  EXPECT_EQ(target(c, "best"), "step-00000006");
}

TEST(RunScore, MakesAnEarlierCheckpointTheBest) {
  const TemporaryFolder folder;
  const RunConfig c = scored_config(folder, "[ $WEFT_STEP = 2 ] && echo 9 || echo $WEFT_STEP", "score");
  EXPECT_EQ(run(c), 0);
  EXPECT_EQ(target(c, "best"), "step-00000002") << "kept although keep_last is 1";
  EXPECT_TRUE(std::filesystem::exists(c.train.output + "/checkpoints/step-00000002/model.safetensors"));
}

TEST(RunScore, SavesEachValidationThatMayBecomeTheBest) {
  const TemporaryFolder folder;
  RunConfig c = scored_config(folder, "echo -$WEFT_STEP", "score");
  c.train.save_every = 0;
  EXPECT_EQ(run(c), 0);
  EXPECT_EQ(target(c, "best"), "step-00000002");
}

TEST(RunScore, MayBeBetterIfItIsLower) {
  const TemporaryFolder folder;
  const RunConfig c = scored_config(folder, "echo $WEFT_STEP", "-1*score");
  EXPECT_EQ(run(c), 0);
  EXPECT_EQ(target(c, "best"), "step-00000002");
}

TEST(RunScore, MayMakeTheLastStepTheBest) {
  const TemporaryFolder folder;
  const RunConfig c = scored_config(folder, "echo $WEFT_STEP", "score");
  EXPECT_EQ(run(c), 0);
  EXPECT_EQ(target(c, "best"), "step-00000006");
  EXPECT_EQ(run(c), 0);
  EXPECT_EQ(scores_in(c).size(), 3u) << "nothing is scored again";
  EXPECT_FALSE(std::filesystem::exists(c.train.output + "/validation/step-00000002"));
}

TEST(RunScore, CountsForPatience) {
  const TemporaryFolder folder;
  RunConfig c = scored_config(folder, "echo 1", "score");
  c.train.steps = 5000, c.train.patience = 2;
  EXPECT_EQ(run(c), 0);
  EXPECT_LT(logged(c, "loss").back(), 5000);
  EXPECT_EQ(target(c, "best"), "step-00000002");
}

TEST(RunScore, CountsForPatienceOnEveryRank) {
  const TemporaryFolder folder;
  RunConfig c = scored_config(folder, "echo 1", "score");
  c.train.steps = 5000, c.train.patience = 2;
  c.parallel.dp = 2, c.parallel.tp = 2;
  run_on_ranks(c);
  EXPECT_LT(logged(c, "loss").back(), 5000);
}

TEST(RunScore, IsMissedByALineAndNoMore) {
  const TemporaryFolder folder;
  const RunConfig c = scored_config(folder, "echo no model >&2; exit 3", "score");
  EXPECT_EQ(run(c), 0);
  EXPECT_EQ(logged(c, "no_score"), (std::vector<int64_t>{2, 4, 6}));
  EXPECT_EQ(logged(c, "loss").back(), 6);
  EXPECT_FALSE(std::filesystem::exists(c.train.output + "/checkpoints/best"));
}

TEST(RunScore, OfACommandThatNeverEndsIsMissed) {
  const TemporaryFolder folder;
  RunConfig c = scored_config(folder, "tail -f /dev/null", "loss");
  c.train.validate_command_minutes = 1e-9;
  EXPECT_EQ(run(c), 0);
  EXPECT_EQ(logged(c, "no_score"), (std::vector<int64_t>{2, 4, 6}));
}

TEST(RunScore, IsTheSameOnEveryRank) {
  const TemporaryFolder folder;
  RunConfig c = scored_config(folder, "[ $WEFT_STEP = 4 ] && echo 1 || echo 0", "score");
  c.parallel.dp = 2, c.parallel.tp = 2;
  run_on_ranks(c);
  EXPECT_EQ(scores_in(c), (Scores{{2, 0}, {4, 1}, {6, 0}}));
  EXPECT_EQ(target(c, "best"), "step-00000004");
}

// Sends SIGTERM once the log has so many lines.
int run_and_stop_after(const RunConfig& c, int64_t lines) {
  void (*const before)(int) = std::signal(SIGTERM, SIG_IGN);
  std::atomic<bool> over{false};
  std::thread stop([&] {
    const auto count = [&] {
      std::ifstream log(c.train.output + "/log.jsonl");
      return std::count(std::istreambuf_iterator<char>(log), {}, '\n');
    };
    while (!over && count() < lines) std::this_thread::yield();
    std::raise(SIGTERM);
  });
  const int status = run(c);
  over = true;
  stop.join();
  std::signal(SIGTERM, before);
  return status;
}

TEST(RunScore, ThatIsDueWhenARunStopsIsMadeWhenItResumes) {
  const TemporaryFolder folder;
  RunConfig c = scored_config(folder, "tail -f /dev/null", "score");
  constexpr int64_t kAllRecords = 1 + 6 + 3;  // then the run waits for scores
  EXPECT_EQ(run_and_stop_after(c, kAllRecords), 128 + SIGTERM);
  EXPECT_TRUE(scores_in(c).empty());
  c.train.validate_command = "[ $WEFT_STEP = 4 ] && wc -l < $WEFT_SOURCE || echo 0";
  EXPECT_EQ(run(c), 0);
  EXPECT_EQ(scores_in(c), (Scores{{2, 0}, {4, 4}, {6, 0}}));
  EXPECT_EQ(target(c, "best"), "step-00000004");
  EXPECT_EQ(logged(c, "valid_loss"), (std::vector<int64_t>{2, 4, 6}));
}

TEST(RunScore, IsMissedWhereFourValidationsWaitForTheirs) {
  const TemporaryFolder folder;
  RunConfig c = scored_config(folder, "tail -f /dev/null", "score");
  c.train.steps = 12;
  constexpr int64_t kAllRecords = 1 + 12 + 6 + 2;
  EXPECT_EQ(run_and_stop_after(c, kAllRecords), 128 + SIGTERM);
  EXPECT_EQ(logged(c, "no_score"), (std::vector<int64_t>{10, 12}));
  c.train.validate_command = "echo $WEFT_STEP";
  EXPECT_EQ(run(c), 0);
  EXPECT_EQ(scores_in(c), (Scores{{2, 2}, {4, 4}, {6, 6}, {8, 8}}));
  EXPECT_EQ(target(c, "best"), "step-00000008");
}

TEST(RunScore, LeavesNoTextsInARunWithoutTheCommand) {
  const TemporaryFolder folder;
  RunConfig c = scored_config(folder, "tail -f /dev/null", "loss");
  constexpr int64_t kAllRecords = 1 + 6 + 3;
  EXPECT_EQ(run_and_stop_after(c, kAllRecords), 128 + SIGTERM);
  EXPECT_TRUE(std::filesystem::exists(c.train.output + "/validation/step-00000004"));
  c.train.validate_command = "";
  EXPECT_EQ(run(c), 0);
  EXPECT_FALSE(std::filesystem::exists(c.train.output + "/validation/step-00000004"));
}

TEST(RunScore, RefusesOptionsThatDoNotFit) {
  const TemporaryFolder folder;
  RunConfig c = scored_config(folder, "", "score");
  EXPECT_EQ(refusal_of_run(c), "train.keep_best = score needs a score: set train.validate_command");
  c = scored_config(folder, "echo 1", "loss");
  c.train.validate_bleu = 0;
  EXPECT_NE(refusal_of_run(c).find("train.validate_command needs translations"), std::string::npos);
  c = scored_config(folder, "echo 1", "loss");
  c.train.validate_command_minutes = 0;
  EXPECT_EQ(refusal_of_run(c), "train.validate_command_minutes = 0 must be above 0");
}

}  // namespace
}  // namespace weft::testing
