// tests/model/parameters/memory_limit_test.cpp: limits of control groups, read below a folder that replaces
// the root.
#include "model/parameters/memory_limit.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <limits>

#include "tests/support/temporary_folder.h"

namespace weft::testing {
namespace {

constexpr size_t kNone = std::numeric_limits<size_t>::max();

class MemoryLimit : public ::testing::Test {
 protected:
  void write(const std::string& file, const std::string& text) const {
    const std::filesystem::path path = root_.path() + file;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text << '\n';
  }
  size_t limit() const { return control_group_limit(root_.path()); }

  const TemporaryFolder root_;
};

TEST_F(MemoryLimit, IsTheSmallestOnTheWayUpInVersionTwo) {
  write("/proc/self/cgroup", "0::/user/job");
  write("/sys/fs/cgroup/user/job/memory.max", "max");
  EXPECT_EQ(limit(), kNone);
  write("/sys/fs/cgroup/user/memory.max", "3000");
  EXPECT_EQ(limit(), 3000u);
  write("/sys/fs/cgroup/user/job/memory.max", "2000");
  EXPECT_EQ(limit(), 2000u);
  write("/sys/fs/cgroup/memory.max", "1000");
  EXPECT_EQ(limit(), 1000u);
  write("/sys/fs/cgroup/other/memory.max", "10");
  EXPECT_EQ(limit(), 1000u);
}

TEST_F(MemoryLimit, IsThatOfTheMemoryControllerInVersionOne) {
  write("/proc/self/cgroup", "12:cpuset:/a\n4:hugetlb,memory:/job\n0::/");
  write("/sys/fs/cgroup/memory/a/memory.limit_in_bytes", "10");
  write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712");
  write("/sys/fs/cgroup/memory/job/memory.limit_in_bytes", "5000");
  EXPECT_EQ(limit(), 5000u);
}

TEST_F(MemoryLimit, OfAContainerThatSeesItsGroupAsTheTopIsFound) {
  write("/proc/self/cgroup", "0::/system/on-the-host");
  write("/sys/fs/cgroup/memory.max", "4000");
  EXPECT_EQ(limit(), 4000u);
}

TEST_F(MemoryLimit, IsNoneWithoutControlGroups) {
  EXPECT_EQ(limit(), kNone);
  write("/proc/self/cgroup", "not a group\n0::/..");
  EXPECT_EQ(limit(), kNone);
}

TEST_F(MemoryLimit, OfThisProcessIsAtMostTheMachines) {
  EXPECT_GT(memory_limit(), size_t{1} << 20);
  EXPECT_LT(memory_limit(), kNone);
}

}  // namespace
}  // namespace weft::testing
