// tests/trainer/cluster/timeline_test.cpp: what collectives hide behind the computation, on paper.
#include "trainer/cluster/timeline.h"

#include <gtest/gtest.h>

namespace weft::testing {
namespace {

constexpr TimedKind kCompute = TimedKind::compute, kTp = TimedKind::tp, kDp = TimedKind::dp;

TEST(Timeline, HidesWhatTheComputationOutlasts) {
  const Timeline t = timeline_of({{kCompute, 1}, {kDp, 3}, {kCompute, 5}}, /*lost=*/0);
  EXPECT_EQ(t.compute, 6);
  EXPECT_EQ(t.dp, 3);
  EXPECT_EQ(t.exposed, 0);
  EXPECT_EQ(t.total(), 6);
}

TEST(Timeline, ExposesTheLastBucketsOnOneStream) {
  const Timeline t = timeline_of({{kCompute, 1}, {kDp, 3}, {kCompute, 2}, {kDp, 3}, {kCompute, 1}}, /*lost=*/0);
  EXPECT_EQ(t.exposed, 3);  // 1 + 3 + 3 - 4
  EXPECT_EQ(t.total(), 7);
}

TEST(Timeline, SumsOfTpWaitBehindBuckets) {
  const Timeline t = timeline_of({{kCompute, 1}, {kDp, 4}, {kCompute, 1}, {kTp, 2}, {kCompute, 1}}, /*lost=*/0);
  EXPECT_EQ(t.tp, 5);  // 3 for the bucket, 2 of its own
  EXPECT_EQ(t.exposed, 0);
  EXPECT_EQ(t.total(), 8);
}

TEST(Timeline, SlowsTheComputationBesideACollective) {
  const Timeline t = timeline_of({{kDp, 2}, {kCompute, 1}, {kCompute, 4}}, /*lost=*/0.5);
  EXPECT_DOUBLE_EQ(t.slowed, 0.5 + 0.25);  // 1 of 2 seconds beside it take 1.5; 0.5 are left
  EXPECT_DOUBLE_EQ(t.total(), 5.75);
}

TEST(Timeline, OfCollectivesThatTakeTheCoresIsTheSum) {
  EXPECT_DOUBLE_EQ(timeline_of({{kCompute, 2}, {kDp, 1.5}, {kCompute, 4}}, /*lost=*/1).total(), 7.5);
}

}  // namespace
}  // namespace weft::testing
