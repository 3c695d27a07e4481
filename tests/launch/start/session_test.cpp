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

TEST(Session, EndsWithAllItsProcessGroups) {
  int report[2];
  ASSERT_EQ(pipe(report), 0);
  const pid_t leader = fork();
  if (leader == 0) lead_a_session(report[1]);
  pid_t rank = 0;
  ASSERT_EQ(read(report[0], &rank, sizeof rank), static_cast<ssize_t>(sizeof rank));
  kill_session(leader);
  int status = 0;
  EXPECT_EQ(waitpid(leader, &status, 0), leader);
  EXPECT_EQ(WTERMSIG(status), SIGKILL);
  while (runs(rank)) usleep(1000);  // for ever, if it was not killed
  for (const int end : report) close(end);
}

}  // namespace
}  // namespace weft
