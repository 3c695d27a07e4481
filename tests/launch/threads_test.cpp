// tests/launch/threads_test.cpp: cores divided among ranks.
#include "launch/threads.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

TEST(FairShare, DividesSharedCoresAmongTheRanksOfAHost) {
  const std::vector<int> all = {0, 1, 2, 3, 4, 5};
  const std::vector<RankCores> ranks = {{"a", all}, {"a", all}, {"b", all}, {"a", all}};
  EXPECT_EQ(fair_share(ranks, 0, 0), 2);
  EXPECT_EQ(fair_share(ranks, 2, 0), 6);
}

TEST(FairShare, KeepsCoresThatARankWasBoundTo) {
  const std::vector<RankCores> ranks = {{"a", {0, 1, 2}}, {"a", {3, 4, 5}}};
  EXPECT_EQ(fair_share(ranks, 1, 0), 3);
}

TEST(FairShare, AddsUpThirdsToAWhole) {
  const std::vector<RankCores> ranks(3, RankCores{"a", {0, 1, 2}});
  EXPECT_EQ(fair_share(ranks, 0, 0), 1);
}

TEST(FairShare, IsAtLeastOne) {
  EXPECT_EQ(fair_share(std::vector<RankCores>(4, RankCores{"a", {0}}), 3, 0), 1);
  EXPECT_EQ(fair_share({{"a", {}}}, 0, 0), 1);
}

TEST(FairShare, StaysBelowAContainersLimit) {
  std::vector<int> many(64);
  for (int i = 0; i < 64; ++i) many[i] = i;
  EXPECT_EQ(fair_share({{"a", many}}, 0, 2.0), 2);
  EXPECT_EQ(fair_share({{"a", many}, {"a", many}}, 0, 4.0), 2);
}

}  // namespace
}  // namespace weft
