// tests/launch/start/supervisor_test.cpp: child processes and the signals of this one.
#include "launch/start/supervisor.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>

#include "tests/support/temporary_folder.h"
#include "tests/support/variable.h"

namespace weft {
namespace {

std::vector<std::string> shell(const std::string& script) { return {"/bin/sh", "-c", script}; }
bool nobody() { return false; }  // can save
bool somebody() { return true; }

TEST(Supervisor, ReturnsAProgramsStatusOrItsSignal) {
  Supervisor supervisor;
  EXPECT_EQ(supervisor.run_training(shell("exit 7"), nobody), 7);
  EXPECT_EQ(supervisor.run_training(shell("kill -KILL $$"), nobody), 128 + SIGKILL);
  EXPECT_EQ(supervisor.run_training({"/no/such/program"}, nobody), 127);
}

TEST(Supervisor, SaysThatAProgramFailedWithoutAWord) {
  Supervisor supervisor;
  const auto said = [&](const std::string& script) {
    ::testing::internal::CaptureStderr();
    EXPECT_EQ(supervisor.run_other(shell(script)), supervisor.run_training(shell(script), nobody));
    return ::testing::internal::GetCapturedStderr();
  };
  EXPECT_NE(said("exit 132").find("weft launch: /bin/sh ended with status 132 without any output"), std::string::npos);
  EXPECT_EQ(said("echo why >&2; exit 132"), "why\nwhy\n");
  EXPECT_EQ(said("exit 0"), "");
}

TEST(Supervisor, KeepsATerminalsSignalsFromTheProgram) {
  Supervisor supervisor;
  EXPECT_EQ(supervisor.run_training(
                shell("read -r pid name state parent group session rest </proc/$$/stat; test $session = $$"), nobody),
            0);
}

TEST(Supervisor, GivesProgramsThatRunTogetherATemporaryFolderEach) {
  const testing::TemporaryFolder base;
  const testing::Variable folder("TMPDIR", base.path().c_str());
  const std::vector<std::string> makes_it = shell("mkdir \"$TMPDIR/session\"");
  for (const Supervisor::Outcome& outcome : Supervisor().run_briefly({makes_it, makes_it}, 10))
    EXPECT_EQ(outcome.status, 0) << outcome.output;
  EXPECT_TRUE(std::filesystem::is_empty(base.path()));
}

TEST(Supervisor, TellsHowProgramsEndThatMustEndSoon) {
  Supervisor supervisor;
  const std::vector<Supervisor::Outcome> outcomes = supervisor.run_briefly(
      {shell("cat; echo out"), shell("echo why >&2; exit 3"), shell("while :; do sleep 1; done")}, 0.3);
  EXPECT_EQ(outcomes[0].status, 0);
  EXPECT_EQ(outcomes[0].output, "out\n");
  EXPECT_EQ(outcomes[1].status, 3);
  EXPECT_EQ(outcomes[1].output, "why\n");
  EXPECT_FALSE(outcomes[2].status);
}

// Runs in separate processes, because a thread of another test could receive the signal.
class SupervisorSignals : public ::testing::Test {
 protected:
  SupervisorSignals() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

int status_after_a_stop() {
  Supervisor supervisor;
  const int status = supervisor.run_training(
      shell(fmt::format("trap 'exit 140' USR2; kill -INT {}; while :; do sleep 0.01; done", getpid())), nobody);
  return supervisor.relay().status(status);
}

TEST_F(SupervisorSignals, BecomeARequestToSave) {
  EXPECT_EXIT(std::exit(status_after_a_stop()), ::testing::ExitedWithCode(130), "");
}

// The program takes the second request alone, as ranks that mpirun was only starting at the first one.
int status_after_a_repeated_stop() {
  Supervisor supervisor;
  const int status = supervisor.run_training(
      shell(fmt::format("trap 'n=x$n; [ $n = x ] || exit 140' USR2; kill -INT {}; while :; do sleep 0.01; done",
                        getpid())),
      nobody);
  return supervisor.relay().status(status);
}

TEST_F(SupervisorSignals, AreRepeatedUntilTheRanksStop) {
  EXPECT_EXIT(std::exit(status_after_a_repeated_stop()), ::testing::ExitedWithCode(130), "");
}

// The program ignores every request.
int status_after_impatience() {
  constexpr double kLongestEnd = 0;
  Supervisor supervisor{StopRelay(kLongestEnd)};
  const int status = supervisor.run_training(
      shell(fmt::format("trap '' USR2 TERM; kill -INT {0}; sleep 2.1; kill -INT {0}; while :; do sleep 1; done",
                        getpid())),
      nobody);
  return supervisor.relay().status(status);
}

TEST_F(SupervisorSignals, EndAProgramThatDoesNotEndItself) {
  EXPECT_EXIT(std::exit(status_after_impatience()), ::testing::ExitedWithCode(130), "");
}

int status_after_a_request_to_save(bool (*can_save)()) {
  Supervisor supervisor;
  return supervisor.run_training(
      shell(fmt::format(
          "trap 'exit 9' USR1; trap 'exit 8' USR2; kill -USR1 {0}; kill -USR2 {0}; while :; do sleep 0.01; done",
          getpid())),
      can_save);
}

TEST_F(SupervisorSignals, AskOnlyRanksThatCanSave) {
  EXPECT_EXIT(std::exit(status_after_a_request_to_save(nobody)), ::testing::ExitedWithCode(8), "");
  EXPECT_EXIT(std::exit(status_after_a_request_to_save(somebody)), ::testing::ExitedWithCode(9), "");
}

int signal_that_ends_a_pause() {
  Supervisor supervisor;
  kill(getpid(), SIGTERM);
  supervisor.pause(3600);
  return supervisor.relay().stop_signal();
}

TEST_F(SupervisorSignals, EndAPause) {
  EXPECT_EXIT(std::exit(signal_that_ends_a_pause()), ::testing::ExitedWithCode(SIGTERM), "");
}

}  // namespace
}  // namespace weft
