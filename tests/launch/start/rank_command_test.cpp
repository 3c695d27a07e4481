// tests/launch/start/rank_command_test.cpp: the command lines of mpirun and srun.
#include "launch/start/rank_command.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/variable.h"

namespace weft {
namespace {

using testing::holds;
using testing::Variable;

std::string mpirun_line(const RankCommand& command) { return shell_quoted(mpirun_command("/bin/mpirun", command)); }

TEST(RankCommand, LeavesRanksOfOneMachineUnbound) {
  const Variable policy("OMPI_MCA_hwloc_base_binding_policy");
  const std::string line = mpirun_line({.ranks = 4, .words = {"weft", "train"}});
  EXPECT_TRUE(line.starts_with("/bin/mpirun --quiet -n 4 ")) << line;
  EXPECT_TRUE(line.ends_with("--map-by slot --bind-to none --oversubscribe weft train")) << line;
}

TEST(RankCommand, KeepsTheUsersBinding) {
  const Variable policy("OMPI_MCA_hwloc_base_binding_policy", "numa");
  EXPECT_FALSE(holds(mpirun_line({.ranks = 4, .words = {"weft"}}), "--bind-to"));
}

TEST(RankCommand, PassesSettingsOnToOtherHosts) {
  const Variable threads("OMP_NUM_THREADS", "2"), other("HOME_OF_NOBODY", "x");
  const std::string line = mpirun_line({.ranks = 3, .hosts = {{"a", 2}, {"b", 1}}, .words = {"weft"}});
  EXPECT_TRUE(holds(line, "--host a:2,b:1 ")) << line;
  EXPECT_TRUE(holds(line, "-x OMP_NUM_THREADS ")) << line;
  EXPECT_FALSE(holds(line, "HOME_OF_NOBODY")) << line;
  EXPECT_FALSE(holds(line, "--oversubscribe")) << line;
  EXPECT_TRUE(holds(line, "--wdir " + std::filesystem::current_path().string())) << line;
  EXPECT_FALSE(holds(line, "fqdn")) << line;
}

TEST(RankCommand, KeepsTheWholeNamesOfHosts) {
  const std::string line = mpirun_line({.ranks = 2, .hosts = {{"a.cluster", 1}, {"b.cluster", 1}}, .words = {"weft"}});
  EXPECT_TRUE(holds(line, "--host a.cluster:1,b.cluster:1 --mca orte_keep_fqdn_hostnames 1 ")) << line;
}

TEST(RankCommand, MakesMpirunNoticeALostHostUnlessTheUserSaysWhen) {
  const RankCommand on_hosts{.ranks = 2, .hosts = {{"a", 1}, {"b", 1}}, .words = {"weft"}};
  EXPECT_TRUE(holds(mpirun_line(on_hosts), "--mca oob_tcp_keepalive_time 4 --mca oob_tcp_keepalive_intvl 2 "));
  EXPECT_FALSE(holds(mpirun_line({.ranks = 2, .words = {"weft"}}), "keepalive"));
  const Variable idle("OMPI_MCA_oob_tcp_keepalive_time", "60");
  EXPECT_FALSE(holds(mpirun_line(on_hosts), "oob_tcp_keepalive_time"));
}

TEST(RankCommand, StartsSlurmsTasksWithPmix) {
  const Variable cpus("SLURM_CPUS_PER_TASK", "8");
  EXPECT_EQ(shell_quoted(srun_command("/bin/srun", {.ranks = 4, .words = {"weft"}})),
            "/bin/srun --mpi=pmix --kill-on-bad-exit=1 --cpu-bind=cores --ntasks=4 --cpus-per-task=8 weft");
}

TEST(RankCommand, LeavesTheNumberOfTasksToTheAllocation) {
  const Variable cpus("SLURM_CPUS_PER_TASK");
  EXPECT_EQ(shell_quoted(srun_command("srun", {.words = {"weft"}})),
            "srun --mpi=pmix --kill-on-bad-exit=1 --cpu-bind=cores weft");
}

TEST(ShellQuoted, QuotesWhatAShellWouldTakeApart) {
  EXPECT_EQ(shell_quoted({"a=b", "", "it's", "$x y", "~"}), R"(a=b '' 'it'\''s' '$x y' '~')");
}

class FindLauncher : public ::testing::Test {
 protected:
  void make_program(const std::string& name) {
    const std::string path = folder_.path() + "/" + name;
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream(path) << "#!/bin/sh\n";
    chmod(path.c_str(), 0755);
  }
  std::string in_folder(const std::string& name) const { return folder_.path() + "/" + name; }

  testing::TemporaryFolder folder_;
  std::string path_ = folder_.path() + "/no:" + folder_.path() + "/path";
  Variable search_{"PATH", path_.c_str()}, job_{"SLURM_JOB_ID"};
};

TEST_F(FindLauncher, TakesMpirunFromPathOrFromBesideTheProgram) {
  make_program("path/mpirun");
  EXPECT_EQ(find_launcher("", in_folder("bin/weft")).program, in_folder("path/mpirun"));
  make_program("bin/mpirun");
  EXPECT_EQ(find_launcher("", in_folder("bin/weft")).program, in_folder("bin/mpirun"));
  EXPECT_EQ(find_launcher("mpirun", in_folder("bin/weft")).program, in_folder("path/mpirun"));
}

TEST_F(FindLauncher, TakesSrunInAnAllocationUnlessMpirunWasAskedFor) {
  const Variable job("SLURM_JOB_ID", "17");
  make_program("path/srun");
  make_program("path/mpirun");
  const Launcher found = find_launcher("", in_folder("bin/weft"));
  EXPECT_TRUE(found.slurm);
  EXPECT_EQ(found.program, in_folder("path/srun"));
  EXPECT_FALSE(find_launcher("mpirun", in_folder("bin/weft")).slurm);
}

TEST_F(FindLauncher, SaysWhatToInstall) {
  EXPECT_EQ(testing::message_of(ErrorKind::usage, [&] { find_launcher("", in_folder("bin/weft")); }),
            "mpirun is neither next to weft nor on PATH: install Open MPI (Debian: openmpi-bin), or use --mpirun PATH");
  EXPECT_EQ(testing::message_of(ErrorKind::usage, [&] { find_launcher("/no/mpirun", in_folder("bin/weft")); }),
            "--mpirun /no/mpirun: no such program");
}

}  // namespace
}  // namespace weft
