// tests/launch/start/output_relay_test.cpp: output that is copied, that nothing reads, or whose launcher was killed.
#include "launch/start/output_relay.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "launch/start/supervisor.h"
#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"

namespace weft {
namespace {

std::vector<std::string> script(const std::string& text) { return {"/bin/sh", "-c", text}; }
bool no_rank_can_save() { return false; }

TEST(OutputRelay, CopiesBothStreamsToTheirEnd) {
  std::string expected;
  for (int i = 1; i <= 50000; ++i) expected += std::to_string(i) + "\n";
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  const int status = Supervisor().run_other(script("seq 50000; seq 50000 >&2; exit 3"));
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), expected);
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), expected);
  EXPECT_EQ(status, 3);
}

TEST(OutputRelay, DoesNotWaitForAProcessThatWasLeftBehind) {
  const testing::TemporaryFolder folder;
  const std::string held = folder.path() + "/held";
  mkfifo(held.c_str(), 0600);
  ::testing::internal::CaptureStdout();
  EXPECT_EQ(Supervisor().run_other(script("echo text; read -r line <" + held + " & exit 0")), 0);
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "text\n");
  std::ofstream(held) << "end\n";
}

// Runs in separate processes, because the tests change streams and signals.
class OutputRelayProcess : public ::testing::Test {
 protected:
  OutputRelayProcess() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

void close_screen() {
  int ends[2];
  if (pipe(ends) != 0) std::abort();
  for (const int stream : {STDOUT_FILENO, STDERR_FILENO}) dup2(ends[1], stream);
  close(ends[0]), close(ends[1]);
}

int status_of_training_without_a_screen() {
  close_screen();
  return Supervisor().run_training(script("for i in $(seq 1000); do echo $i; echo $i >&2; done; exit 3"),
                                   no_rank_can_save);
}

TEST_F(OutputRelayProcess, TrainingGoesOnWhenNothingReadsItsOutput) {
  EXPECT_EXIT(_exit(status_of_training_without_a_screen()), ::testing::ExitedWithCode(3), "");
}

int status_of_translation_without_a_reader() {
  close_screen();
  return Supervisor().run_other(script("trap '' PIPE; while :; do echo text; sleep 0.01; done"));
}

TEST_F(OutputRelayProcess, OtherCommandsEndWhenNothingReadsTheirOutput) {
  EXPECT_EXIT(_exit(status_of_translation_without_a_reader()), ::testing::ExitedWithCode(128 + SIGPIPE), "");
}

int status_of_translation_to_a_full_disk() {
  dup2(open("/dev/full", O_WRONLY), STDOUT_FILENO);
  return testing::error_of([] { Supervisor().run_other(script("echo text")); }).exit_code();
}

TEST_F(OutputRelayProcess, OtherCommandsFailOnAFullDisk) {
  EXPECT_EXIT(_exit(status_of_translation_to_a_full_disk()), ::testing::ExitedWithCode(5), "");
}

void wait_for_file(const std::string& file) {
  while (!std::filesystem::exists(file)) usleep(1000);
}

// The program stops at the third request: the kernel sends one when the launcher is killed, and the relay the others.
int status_after_the_launcher_was_killed() {
  const testing::TemporaryFolder folder;
  const std::string ready = folder.path() + "/ready", stopped = folder.path() + "/stopped";
  const std::string program = "trap 'n=x$n; [ $n != xxx ] || { echo text; touch " + stopped +
                              "; exit 140; }' USR2; touch " + ready + "; while :; do sleep 0.01; done";
  const pid_t launcher = fork();
  if (launcher == 0) _exit(Supervisor().run_training(script(program), no_rank_can_save));
  wait_for_file(ready);
  kill(launcher, SIGKILL);
  waitpid(launcher, nullptr, 0);
  wait_for_file(stopped);
  return 0;
}

TEST_F(OutputRelayProcess, AsksAgainAndAgainForAStopAfterTheLauncherWasKilled) {
  EXPECT_EXIT(std::exit(status_after_the_launcher_was_killed()), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace weft
