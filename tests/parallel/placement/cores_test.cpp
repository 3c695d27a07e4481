// tests/parallel/placement/cores_test.cpp: lists of cores, and cores divided among ranks.
#include "parallel/placement/cores.h"

#include <gtest/gtest.h>

#include <fstream>
#include <numeric>

#include "tests/parallel/placement/machine.h"

namespace weft::testing {
namespace {

TEST(CoreLists, AreThoseOfLinux) {
  EXPECT_EQ(cores_from_text("0-3,8,10-11\n"), (Cores{0, 1, 2, 3, 8, 10, 11}));
  EXPECT_EQ(cores_from_text("4"), Cores{4});
  EXPECT_EQ(text_of({0, 1, 2, 3, 8, 10, 11}), "0-3,8,10-11");
  EXPECT_EQ(text_of({}), "");
  for (const char* none : {"", "\n", "x", "3-1", "-1", "0-", "0-99999999"})
    EXPECT_EQ(cores_from_text(none), Cores{}) << none;
}

TEST(FairShare, DividesSharedCoresAmongTheRanksOfAHost) {
  const Cores all = {0, 1, 2, 3, 4, 5};
  EXPECT_EQ(fair_share({all, all, all}, 0, 0), 2);
  EXPECT_EQ(fair_share({all}, 0, 0), 6);
}

TEST(FairShare, KeepsCoresThatARankWasBoundTo) { EXPECT_EQ(fair_share({{0, 1, 2}, {3, 4, 5}}, 1, 0), 3); }

TEST(FairShare, AddsUpThirdsToAWhole) { EXPECT_EQ(fair_share(std::vector<Cores>(3, {0, 1, 2}), 0, 0), 1); }

TEST(FairShare, IsAtLeastOne) {
  EXPECT_EQ(fair_share(std::vector<Cores>(4, {0}), 3, 0), 1);
  EXPECT_EQ(fair_share({{}}, 0, 0), 1);
}

TEST(FairShare, StaysBelowAContainersLimit) {
  Cores many(64);
  std::iota(many.begin(), many.end(), 0);
  EXPECT_EQ(fair_share({many}, 0, 2.0), 2);
  EXPECT_EQ(fair_share({many, many}, 0, 4.0), 2);
}

TEST(ContainersLimit, IsThatOfTheControlGroup) {
  const Machine machine;
  EXPECT_EQ(container_quota(machine.sysfs()), 0);
  machine.has("fs/cgroup/cpu.max", "max 100000");
  EXPECT_EQ(container_quota(machine.sysfs()), 0);
  machine.has("fs/cgroup/cpu.max", "250000 100000");
  EXPECT_EQ(container_quota(machine.sysfs()), 2.5);
}

}  // namespace
}  // namespace weft::testing
