// tests/launch/start/host_probe_test.cpp: hosts that cannot run the program, with programs in place of mpirun and weft.
#include "launch/start/host_probe.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

class HostProbe : public ::testing::Test {
 protected:
  HostProbe() {
    make_program("weft", "printf 'weft 0.2.0\nbuild: weft 0.2.0-aa, libmpi.so.40 bb\n'");
    make_program("mpirun", fmt::format(R"(
      while [ "$1" != /bin/sh ]; do [ "$1" != --host ] || host=$2; shift; done
      case $host in
        unknown:1) echo "ssh: Could not resolve hostname unknown" >&2; exit 255 ;;
        busy:1) mkdir {0}/asked 2>/dev/null && exit 255 ;;
        off:1) while :; do sleep 1; done ;;
      esac
      exec "$@")",
                                       folder_.path()));
  }

  void make_program(const std::string& name, const std::string& script) {
    std::ofstream(folder_ / name) << "#!/bin/sh\n" << script << "\n";
    fs::permissions(folder_ / name, fs::perms::owner_all);
  }

  HostAnswer ask(const std::string& host, const std::string& weft, const std::string& build, double seconds = 60) {
    Supervisor supervisor;
    return ask_hosts(supervisor, {folder_ / "mpirun", folder_ / weft, build}, {{host, 1}}, seconds)[0];
  }

  const testing::TemporaryFolder folder_;
  const std::string build_ = "weft 0.2.0-aa, libmpi.so.40 bb";
};

TEST_F(HostProbe, FindsAHostThatCanRunTheProgram) {
  const HostAnswer answer = ask("good", "weft", build_);
  EXPECT_TRUE(answer.reached);
  EXPECT_EQ(answer.problem, "");
}

TEST_F(HostProbe, AsksABusyHostAgain) { EXPECT_EQ(ask("busy", "weft", build_).problem, ""); }

TEST_F(HostProbe, KeepsTheLineOfSsh) {
  const HostAnswer answer = ask("unknown", "weft", build_);
  EXPECT_FALSE(answer.reached);
  EXPECT_EQ(answer.problem, "ssh: Could not resolve hostname unknown");
}

TEST_F(HostProbe, GivesUpAHostThatIsOff) {
  EXPECT_EQ(ask("off", "weft", build_, /*seconds=*/0.2).problem, "no answer in time");
}

TEST_F(HostProbe, NamesAnAbsentProgram) {
  const HostAnswer answer = ask("good", "absent", build_);
  EXPECT_TRUE(answer.reached);
  EXPECT_TRUE(testing::holds(answer.problem, "/absent: not found")) << answer.problem;
  EXPECT_TRUE(testing::holds(testing::message_of(ErrorKind::usage,
                                                 [&] {
                                                   require_program_on_hosts({{"good", 1}}, {answer});
                                                 }),
                             "good cannot run this command: "));
}

TEST_F(HostProbe, NamesAnotherBuild) {
  EXPECT_EQ(ask("good", "weft", "weft 0.2.0-aa, libmpi.so.40 cc").problem,
            "it has libmpi.so.40 bb instead of cc: install the same build on all hosts");
  make_program("old", "echo weft 0.1.9");
  EXPECT_EQ(ask("good", "old", build_).problem, "it has weft 0.1.9: install the same build on all hosts");
}

}  // namespace
}  // namespace weft
