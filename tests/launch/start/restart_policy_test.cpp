// tests/launch/start/restart_policy_test.cpp: which ends lead to another start.
#include "launch/start/restart_policy.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"

namespace weft {
namespace {

using testing::holds;

TEST(RestartPolicy, StartsAgainAfterALostRankOrHost) {
  for (const int status : {1, 6, 134, 137, 139, 205}) {
    const auto next = RestartPolicy(1).after(status, {.checkpoint = "step-00000010", .step = 12});
    EXPECT_TRUE(next.again) << status;
    EXPECT_TRUE(holds(next.reason, "after step 12, newest checkpoint step-00000010")) << next.reason;
  }
}

TEST(RestartPolicy, EndsWithOtherStatuses) {
  for (const int status : {0, 2, 3, 4, 5, 7, 129, 130, 140, 143, 152}) {
    const auto next = RestartPolicy(1).after(status, {});
    EXPECT_FALSE(next.again) << status;
    EXPECT_EQ(next.reason, "");
  }
}

TEST(RestartPolicy, GivesUpWhenTheSameStepFailsTwice) {
  RestartPolicy policy(10);
  EXPECT_TRUE(policy.after(6, {.checkpoint = "step-00000010", .step = 12}).again);
  const auto next = policy.after(6, {.checkpoint = "step-00000010", .step = 12});
  EXPECT_FALSE(next.again);
  EXPECT_TRUE(holds(next.reason, "it failed twice at this point, so it is not restarted")) << next.reason;
}

TEST(RestartPolicy, GoesOnWhileThereIsProgress) {
  RestartPolicy policy(10);
  EXPECT_TRUE(policy.after(6, {.checkpoint = "step-00000010", .step = 12}).again);
  EXPECT_TRUE(policy.after(6, {.checkpoint = "step-00000010", .step = 13}).again);
  EXPECT_TRUE(policy.after(6, {.checkpoint = "step-00000010", .step = 11}).again) << "an earlier step: another failure";
  EXPECT_TRUE(policy.after(6, {.checkpoint = "step-00000011", .step = 11}).again);
}

TEST(RestartPolicy, WaitsLongerAfterEachFailureUntilACheckpointIsSaved) {
  RestartPolicy policy(100);
  const auto pause = [&](const char* checkpoint, int64_t step) { return policy.after(6, {checkpoint, step}).pause; };
  EXPECT_EQ(pause("", 1), 1);
  EXPECT_EQ(pause("", 2), 2);
  EXPECT_EQ(pause("", 3), 4);
  for (int64_t step = 4; step < 10; ++step) pause("", step);
  EXPECT_EQ(pause("", 10), 60);
  EXPECT_EQ(pause("step-00000010", 11), 1);
}

TEST(RestartPolicy, StopsAfterTheGivenNumber) {
  RestartPolicy policy(1);
  EXPECT_TRUE(policy.after(6, {.step = 1}).again);
  const auto next = policy.after(6, {.step = 2});
  EXPECT_FALSE(next.again);
  EXPECT_TRUE(holds(next.reason, "no restarts are left")) << next.reason;
  EXPECT_TRUE(holds(RestartPolicy(0).after(137, {}).reason, "--restarts K")) << "names the option that helps";
}

TEST(RestartPolicy, TriesAgainWhileNoRanksCanBeStarted) {
  RestartPolicy policy(4);
  EXPECT_EQ(policy.after_no_start().pause, 1);
  EXPECT_EQ(policy.after_no_start().pause, 2);
  EXPECT_TRUE(policy.after(6, {.step = 1}).again);
  EXPECT_TRUE(policy.after_no_start().again);
  const auto next = policy.after_no_start();
  EXPECT_FALSE(next.again);
  EXPECT_TRUE(holds(next.reason, "no restarts are left")) << next.reason;
}

TEST(RestartPolicy, RemembersAFailureWhileNoRanksCanBeStarted) {
  RestartPolicy policy(10);
  EXPECT_TRUE(policy.after(6, {.step = 1}).again);
  EXPECT_TRUE(policy.after_no_start().again);
  EXPECT_FALSE(policy.after(6, {.step = 1}).again);
}

TEST(RunProgress, ReadsTheFolderOfARun) {
  const testing::TemporaryFolder folder;
  EXPECT_EQ(progress_of(folder.path()), RunProgress());
  std::filesystem::create_directories(folder.path() + "/checkpoints");
  std::filesystem::create_directory_symlink("step-00000010", folder.path() + "/checkpoints/latest");
  std::ofstream(folder.path() + "/log.jsonl") << "{\"step\":9,\"loss\":1}\n{\"step\":12,\"loss\":1}\n{\"step\":13,\"lo";
  EXPECT_EQ(progress_of(folder.path()), (RunProgress{.checkpoint = "step-00000010", .step = 12}));
}

TEST(RunProgress, TakesTheLastWholeRecord) {
  EXPECT_EQ(last_step_in(""), 0);
  EXPECT_EQ(last_step_in("\n"), 0);
  EXPECT_EQ(last_step_in("{\"step\":7"), 0);
  EXPECT_EQ(last_step_in("{\"step\":7}\n"), 7);
  EXPECT_EQ(last_step_in("garbage\n"), 0);
}

TEST(RanksThatFit, KeepsTpAndTakesTheGreatestDpThatDividesTheBlocks) {
  EXPECT_EQ(ranks_that_fit(8, 8, 2), 8);
  EXPECT_EQ(ranks_that_fit(8, 12, 2), 8);
  EXPECT_EQ(ranks_that_fit(6, 5, 1), 5);
  EXPECT_EQ(ranks_that_fit(8, 7, 2), 6);
  EXPECT_EQ(testing::message_of(ErrorKind::peer, [] { ranks_that_fit(8, 3, 4); }),
            "only 3 slots are left, fewer than parallel.tp = 4");
}

}  // namespace
}  // namespace weft
