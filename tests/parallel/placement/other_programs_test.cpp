// tests/parallel/placement/other_programs_test.cpp: the share of the cores that other programs use, from /proc's texts.
#include "parallel/placement/other_programs.h"

#include <gtest/gtest.h>

#include <cmath>

namespace weft {
namespace {

constexpr char kStat[] =
    "cpu  600 60 160 9000 50 6 16 36 5 0\n"
    "cpu0 100 10 20 3000 40 1 2 3 5 0\n"
    "cpu1 200 20 40 3000 5 2 4 3 0 0\n"
    "cpu11 300 30 100 3000 5 3 10 30 0 0\n"
    "intr 1234 0 9\nctxt 5678\n";

TEST(BusyTicks, AreThoseOfTheGivenCores) {
  EXPECT_EQ(busy_ticks(kStat, {0}), 100 + 10 + 20 + 1 + 2 + 3);  // neither idle nor iowait; guests are in `user`
  EXPECT_EQ(busy_ticks(kStat, {1, 11}), 269 + 473);
  EXPECT_EQ(busy_ticks(kStat, {}), 878);
}

TEST(BusyTicks, AreUnknownIfACoreIsNotListed) {
  EXPECT_TRUE(std::isnan(busy_ticks(kStat, {0, 2})));
  EXPECT_TRUE(std::isnan(busy_ticks("", {})));
  EXPECT_TRUE(std::isnan(busy_ticks("cpu0 100 10\n", {0})));
}

TEST(ProcessTicks, AreThoseOfAllItsThreads) {
  EXPECT_EQ(process_ticks("7 (a) weft) (b) R 1 7 7 0 -1 4194304 90 80 0 0 1200 34 55 66 20 0 3 0 100"), 1234);
  EXPECT_TRUE(std::isnan(process_ticks("")));
  EXPECT_TRUE(std::isnan(process_ticks("7 (weft) R 1 7")));
}

TEST(ShareOfOthers, IsWhatTheRanksDoNotUse) {
  const CpuTimes from{.time = 10, .busy = 100, .by_ranks = 50};
  EXPECT_DOUBLE_EQ(share_of_others(from, {.time = 12, .busy = 108, .by_ranks = 53}, 4), 5.0 / 8);
  EXPECT_EQ(share_of_others(from, {.time = 12, .busy = 103, .by_ranks = 53.1}, 4), 0);  // ticks are rounded
  EXPECT_EQ(share_of_others(from, {.time = 12, .busy = 120, .by_ranks = 50}, 4), 1);
  EXPECT_EQ(share_of_others(from, {.time = 12, .busy = std::nan(""), .by_ranks = 50}, 4), 0);
  EXPECT_EQ(share_of_others(from, from, 4), 0);
}

TEST(ShareOfOthers, IsNamedOnlyIfItMatters) {
  EXPECT_EQ(describe_others(0.6), "others use 60 % of the cores");
  EXPECT_EQ(describe_others(0.19), "");
}

TEST(OtherPrograms, AreMeasuredByTheMainRankAlone) {
  run_thread_ranks(2, [](Communicator& world) {
    OtherPrograms others(world);
    const double share = others.share();
    EXPECT_GE(share, 0);
    EXPECT_LE(share, world.is_main_rank() ? 1 : 0);
  });
}

}  // namespace
}  // namespace weft
