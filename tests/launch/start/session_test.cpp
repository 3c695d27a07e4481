// tests/launch/start/session_test.cpp: which processes end with a session.
#include "launch/start/session.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <string>

namespace weft {
namespace {

[[noreturn]] void pause_for_ever() {
  while (true) pause();
}

// Behaves like mpirun with a rank, which has its own process group.
[[noreturn]] void lead_a_session(int report) {
  setsid();
  if (fork() != 0) pause_for_ever();
  setpgid(0, 0);
  const pid_t rank = getpid();
  if (write(report, &rank, sizeof rank) != sizeof rank) _exit(1);
  pause_for_ever();
}

bool runs(pid_t process) {  // one that has ended, but whose status nobody took, has no program
  std::error_code ended;
  return !std::filesystem::read_symlink("/proc/" + std::to_string(process) + "/exe", ended).empty();
}

class Session : public ::testing::Test {
 protected:
  void SetUp() override {
    int report[2];
    ASSERT_EQ(pipe(report), 0);
    leader_ = fork();
    if (leader_ == 0) lead_a_session(report[1]);
    ASSERT_EQ(read(report[0], &rank_, sizeof rank_), static_cast<ssize_t>(sizeof rank_));
    for (const int end : report) close(end);
  }

  int end() const {  // returns the leader's state
    kill_session(leader_);
    int state = 0;
    EXPECT_EQ(waitpid(leader_, &state, 0), leader_);
    return state;
  }

  pid_t leader_ = 0, rank_ = 0;
};

TEST_F(Session, EndsWithAllItsProcessGroups) {
  EXPECT_EQ(WTERMSIG(end()), SIGKILL);
  while (runs(rank_)) usleep(1000);  // for ever, if it was not killed
}

TEST_F(Session, CountsItsProcessesOfThisProgramAndThoseThatAreStopped) {
  EXPECT_EQ(count_own_program(leader_).all, 2);
  EXPECT_EQ(count_own_program(leader_).stopped, 0);
  kill(rank_, SIGSTOP);
  while (count_own_program(leader_).stopped != 1) usleep(1000);  // for ever, if it is not counted
  end();
  while (count_own_program(leader_).all != 0) usleep(1000);  // the rank may take a moment to end
}

}  // namespace
}  // namespace weft
