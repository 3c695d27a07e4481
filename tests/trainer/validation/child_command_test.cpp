// tests/trainer/validation/child_command_test.cpp: commands beside this process: their status, environment, and end.
#include "trainer/validation/child_command.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <thread>

#include "tests/support/temporary_folder.h"

namespace weft::testing {
namespace {

class ChildCommandTest : public ::testing::Test {
 protected:
  ChildCommand start(const std::string& command, const ChildCommand::Environment& added = {}) const {
    return ChildCommand(command, added);
  }
  int status_of(const std::string& command, const ChildCommand::Environment& added = {}) {
    ChildCommand child = start(command, added);
    for (;;) {
      if (const std::optional<int> status = child.poll()) {
        output_ = child.output(), error_ = child.error();
        return *status;
      }
      std::this_thread::yield();
    }
  }

  // A named pipe. Opening it for reading waits for a writer.
  std::string make_pipe() const {
    const std::string path = folder_ / "pipe";
    EXPECT_EQ(mkfifo(path.c_str(), 0600), 0);
    return path;
  }

  const TemporaryFolder folder_;
  std::string output_, error_;  // of the last status_of()
};

TEST_F(ChildCommandTest, GivesItsOutputAndStatus) {
  EXPECT_EQ(status_of("echo 27.5; echo note >&2; exit 3"), 3);
  EXPECT_EQ(output_, "27.5\n");
  EXPECT_EQ(error_, "note\n");
  EXPECT_EQ(status_of("kill -TERM $$"), 128 + SIGTERM);
  EXPECT_EQ(status_of("no-such-program-at-all"), 127);
}

TEST_F(ChildCommandTest, KeepsOnlyTheEndOfALongOutput) {
  EXPECT_EQ(status_of("yes 0.5 | head -c 3000000; echo 7"), 0);
  EXPECT_TRUE(output_.ends_with("0.5\n7\n")) << output_;
  EXPECT_EQ(output_.size(), 4096u);
}

TEST_F(ChildCommandTest, MayPrintWithoutEnd) {
  ChildCommand child = start("echo at work >" + make_pipe() + "; yes >&2 & exec yes");
  std::ifstream reader(folder_ / "pipe");
  std::string line;
  EXPECT_TRUE(std::getline(reader, line));
  child.kill();
  EXPECT_LE(child.output().size() + child.error().size(), 2 * 4096u);
}

TEST_F(ChildCommandTest, HasNoInput) {
  EXPECT_EQ(status_of("cat; echo end"), 0);
  EXPECT_EQ(output_, "end\n");
}

TEST_F(ChildCommandTest, SeesWhatIsAddedAndNothingOfMpi) {
  for (const char* of_mpi : {"OMPI_WEFT_TEST", "SLURM_STEP_NUM_TASKS"}) setenv(of_mpi, "1", 1);
  EXPECT_EQ(status_of("echo \"$WEFT_A|$OMPI_WEFT_TEST$SLURM_STEP_NUM_TASKS\"", {{"WEFT_A", "a b\"c"}}), 0);
  for (const char* of_mpi : {"OMPI_WEFT_TEST", "SLURM_STEP_NUM_TASKS"}) unsetenv(of_mpi);
  EXPECT_EQ(output_, "a b\"c|\n");
}

TEST_F(ChildCommandTest, HasTheDefaultsOfSignals) {
  std::signal(SIGPIPE, SIG_IGN);
  EXPECT_EQ(status_of("kill -PIPE $$"), 128 + SIGPIPE);
  std::signal(SIGPIPE, SIG_DFL);
}

// The command says that it is at work. The pipe ends with the last process that holds it.
void expect_end_of(const std::string& pipe, const std::function<void()>& end) {
  std::ifstream reader(pipe);  // waits for the command
  std::string line;
  std::getline(reader, line);
  EXPECT_EQ(line, "at work");
  end();
  EXPECT_FALSE(std::getline(reader, line)) << "waits until all writers are gone";
}

TEST_F(ChildCommandTest, EndsWithItsWholeGroup) {
  ChildCommand child = start("exec >" + make_pipe() + "; echo at work; tail -f /dev/null & tail -f /dev/null");
  expect_end_of(folder_ / "pipe", [&] { child.kill(); });
  EXPECT_EQ(child.poll(), std::nullopt);
}

TEST_F(ChildCommandTest, LeavesNothingBehindWhenItsShellEnds) {
  ChildCommand child = start("exec >" + make_pipe() + "; echo at work; tail -f /dev/null &");
  expect_end_of(folder_ / "pipe", [&] {
    while (!child.poll()) std::this_thread::yield();
  });
}

TEST_F(ChildCommandTest, EndsWhenItIsDestroyed) {
  std::optional<ChildCommand> child(std::in_place, "exec >" + make_pipe() + "; echo at work; tail -f /dev/null",
                                    ChildCommand::Environment{});
  expect_end_of(folder_ / "pipe", [&] { child.reset(); });
}

}  // namespace
}  // namespace weft::testing
