// tests/launch/commands/launch_test.cpp: what `weft launch` would start, and what it refuses.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "data/atomic_file.h"
#include "launch/commands.h"
#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/variable.h"

namespace weft {
namespace {

using testing::holds;

std::string launch_line(std::vector<std::string> args) {
  const testing::Variable job("SLURM_JOB_ID");
  args.insert(args.begin(), {"--dry-run", "--mpirun", "/bin/true"});
  ::testing::internal::CaptureStdout();
  EXPECT_EQ(run_launch({.args = args}), 0);
  return ::testing::internal::GetCapturedStdout();
}

std::string launch_refusal(std::vector<std::string> args) {
  const testing::Variable job("SLURM_JOB_ID");
  args.insert(args.begin(), {"--mpirun", "/bin/true"});
  return testing::message_of(ErrorKind::usage, [&] { run_launch({.args = args}); });
}

TEST(LaunchCommand, PrintsItsLineForAShell) {
  const std::string line = launch_line({"-n", "4", "train", "--train.output=a b"});
  EXPECT_TRUE(line.starts_with("/bin/true --quiet -n 4 ")) << line;
  EXPECT_TRUE(line.ends_with(" train '--train.output=a b'\n")) << line;
}

TEST(LaunchCommand, TakesAllSlotsOfTheHosts) {
  EXPECT_TRUE(holds(launch_line({"--hosts", "a:4,b:2", "bench"}), " -n 6 "));
  EXPECT_TRUE(holds(launch_line({"-n", "5", "--hosts", "a:4,b:2", "bench"}), " -n 5 "));
}

TEST(LaunchCommand, RefusesWhatCannotStart) {
  EXPECT_EQ(launch_refusal({"-n", "2", "pack"}), "`weft pack` runs in one process: start it without `weft launch`");
  EXPECT_EQ(launch_refusal({"-n", "2", "trian"}), "unknown command 'trian'; did you mean 'train'?");
  EXPECT_EQ(launch_refusal({"train"}), "the number of ranks is missing: give -n N");
  EXPECT_EQ(launch_refusal({"-n", "7", "--hosts", "a:4,b:2", "train"}),
            "-n 7 is more than the 6 slots of --hosts: give more slots");
  EXPECT_TRUE(holds(launch_refusal({"-n", "1000000", "train"}), "-n 1000000: this host has "));
}

TEST(LaunchCommand, RefusesAFolderAsInput) {
  const FileDescriptor before(dup(STDIN_FILENO)), folder(open("/", O_RDONLY | O_CLOEXEC));
  dup2(folder.get(), STDIN_FILENO);
  EXPECT_EQ(testing::message_of(ErrorKind::io,
                                [] {
                                  run_launch({.args = {"--mpirun", "/bin/true", "-n", "1", "translate"}});
                                }),
            "standard input is a folder: give a file or a pipe");
  dup2(before.get(), STDIN_FILENO);
}

TEST(LaunchCommand, LeavesTheHostsToSlurm) {
  const testing::TemporaryFolder folder;
  std::ofstream(folder.path() + "/srun") << "#!/bin/sh\n";
  std::filesystem::permissions(folder.path() + "/srun", std::filesystem::perms::owner_all);
  const testing::Variable job("SLURM_JOB_ID", "17"), path("PATH", folder.path().c_str()), cpus("SLURM_CPUS_PER_TASK");
  ::testing::internal::CaptureStdout();
  EXPECT_EQ(run_launch({.args = {"--dry-run", "train"}}), 0);
  EXPECT_TRUE(holds(::testing::internal::GetCapturedStdout(), "/srun --mpi=pmix --kill-on-bad-exit=1 "));
  EXPECT_EQ(
      testing::message_of(ErrorKind::usage,
                          [] {
                            run_launch({.args = {"--hosts", "a", "train"}});
                          }),
      "--hosts has no effect with srun, because Slurm has chosen the hosts: leave it out, or use --mpirun=mpirun");
}

}  // namespace
}  // namespace weft
