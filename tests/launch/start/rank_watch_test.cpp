// tests/launch/start/rank_watch_test.cpp: when mpirun must be killed.
#include "launch/start/rank_watch.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

constexpr ProcessCounts kNone{}, kRunning{.all = 2}, kOneStopped{.all = 2, .stopped = 1},
    kStopped{.all = 2, .stopped = 2};

// Returns what a watch says after so many seconds of the last counts.
std::string said(RankWatch watch, std::initializer_list<ProcessCounts> before, ProcessCounts then, double seconds) {
  for (const ProcessCounts& counts : before) EXPECT_EQ(watch.look(counts), "");
  std::string text;
  for (double t = 0; t < seconds && text.empty(); t += RankWatch::kPeriod) text = watch.look(then);
  return text;
}

TEST(RankWatch, GivesUpAnMpirunThatOutlivesItsRanks) {
  EXPECT_NE(said(RankWatch(), {kRunning}, kNone, 12).find("mpirun still waits for another host"), std::string::npos);
}

TEST(RankWatch, GivesMpirunTimeToEnd) { EXPECT_EQ(said(RankWatch(), {kRunning}, kNone, 10), ""); }

TEST(RankWatch, WaitsForRanksThatHaveNotStarted) {
  EXPECT_EQ(said(RankWatch(), {}, kNone, 1e5), "");  // or this host gets none
}

TEST(RankWatch, NamesRanksThatAreAllStopped) {
  EXPECT_NE(
      said(RankWatch(30), {kRunning}, kStopped, 32).find("stopped (SIGSTOP) for more than 30 s (parallel.timeout)"),
      std::string::npos);
}

TEST(RankWatch, StopsForLessTimeAreNoFailure) {
  EXPECT_EQ(said(RankWatch(30), {kStopped, kRunning}, kStopped, 30), "");
}

TEST(RankWatch, NeverTakesRanksThatWorkForDead) {
  EXPECT_EQ(said(RankWatch(30), {}, kRunning, 1e5), "");
  EXPECT_EQ(said(RankWatch(30), {}, kOneStopped, 1e5), "");  // the other rank's watchdog names it
}

}  // namespace
}  // namespace weft
