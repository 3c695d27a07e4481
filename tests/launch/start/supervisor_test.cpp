// tests/launch/start/supervisor_test.cpp: child processes and the signals of this one.
#include "launch/start/supervisor.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

namespace weft {
namespace {

std::vector<std::string> shell(const std::string& script) { return {"/bin/sh", "-c", script}; }

TEST(Supervisor, ReturnsAProgramsStatusOrItsSignal) {
  Supervisor supervisor;
  EXPECT_EQ(supervisor.run(shell("exit 7")), 7);
  EXPECT_EQ(supervisor.run(shell("kill -KILL $$")), 128 + SIGKILL);
  EXPECT_EQ(supervisor.run({"/no/such/program"}), 127);
}

TEST(Supervisor, KeepsATerminalsSignalsFromTheProgram) {
  Supervisor supervisor;
  EXPECT_EQ(
      supervisor.run(shell("read -r pid name state parent group session rest </proc/$$/stat; test $session = $$")), 0);
}

TEST(Supervisor, TellsWhichProgramsSucceedInTime) {
  Supervisor supervisor;
  EXPECT_EQ(supervisor.succeed({shell("exit 0"), shell("exit 1"), shell("while :; do sleep 1; done")}, 0.3),
            (std::vector<bool>{true, false, false}));
}

// In processes of their own: a thread of another test could take the signal.
class SupervisorSignals : public ::testing::Test {
 protected:
  SupervisorSignals() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

int status_after_a_stop() {
  Supervisor supervisor;
  const int status =
      supervisor.run(shell(fmt::format("trap 'exit 140' USR2; kill -INT {}; while :; do sleep 0.01; done", getpid())));
  return supervisor.relay().status(status);
}

TEST_F(SupervisorSignals, BecomeARequestToSave) {
  EXPECT_EXIT(std::exit(status_after_a_stop()), ::testing::ExitedWithCode(130), "");
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
