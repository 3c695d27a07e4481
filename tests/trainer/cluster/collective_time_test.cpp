// tests/trainer/cluster/collective_time_test.cpp: latencies and bytes of collectives, counted by hand.
#include "trainer/cluster/collective_time.h"

#include <gtest/gtest.h>

namespace weft::testing {
namespace {

Machine simple_machine() {
  Machine m;
  m.node.ranks = 8, m.node.bandwidth = {100}, m.node.latency = {1}, m.node.hop = {0.01};
  m.network.bandwidth = {5}, m.network.hop = {0.1}, m.network.host_latency = {0.5};
  return m;
}

TEST(CollectiveTime, OfOneRankIsNothing) {
  EXPECT_EQ(all_reduce_seconds(simple_machine(), {.ranks = 1, .of_node = 1}, 1e6), 0);
  EXPECT_EQ(all_gather_seconds(simple_machine(), {.ranks = 1, .of_node = 1}, 1e6), 0);
  EXPECT_EQ(host_exchange_seconds(simple_machine(), 1, 8), 0);
}

TEST(CollectiveTime, WithinANodeIsThatOfItsLinks) {
  const Group node{.ranks = 8, .of_node = 8};
  EXPECT_DOUBLE_EQ(all_reduce_seconds(simple_machine(), node, 800), 1 + 14 * 0.01 + 1400.0 / 100);
  EXPECT_DOUBLE_EQ(reduce_scatter_seconds(simple_machine(), node, 800), 1 + 7 * 0.01 + 700.0 / 100);
}

// 4 nodes of 8, whose 8 links to the network carry 40 bytes a second. A tree has 7 ranks of a node and 2 doublings.
TEST(CollectiveTime, BetweenNodesIsThatOfTheSlowerLink) {
  const Group group{.ranks = 32, .of_node = 8};
  EXPECT_DOUBLE_EQ(all_reduce_seconds(simple_machine(), group, 3200), 1 + 2 * (7 * 0.01 + 2 * 0.1) + 6200.0 / 40);
  EXPECT_DOUBLE_EQ(all_gather_seconds(simple_machine(), group, 3200), 1 + 27 * 0.01 + 4 * 0.1 + 3100.0 / 40);
}

TEST(CollectiveTime, OfABroadcastSendsAllBytesOverEachLink) {
  const Group group{.ranks = 32, .of_node = 8};
  EXPECT_DOUBLE_EQ(broadcast_seconds(simple_machine(), group, 3200), 1 + 27 * 0.01 + 4 * 0.1 + 3200.0 / 40);
  EXPECT_EQ(broadcast_seconds(simple_machine(), group, 0), 0);
  EXPECT_EQ(broadcast_seconds(simple_machine(), {.ranks = 1, .of_node = 1}, 1e6), 0);
}

TEST(CollectiveTime, OfOneRankANodeUsesItsOwnLink) {
  const Group group{.ranks = 2, .of_node = 1};
  EXPECT_DOUBLE_EQ(all_reduce_seconds(simple_machine(), group, 100), 1 + 2 * 0.1 + 100.0 / 5);
}

// A rank sends 7/8 of f32 within its node, and 3/4 of an eighth in bf16 to the other 3 nodes over its own link.
TEST(CollectiveTime, OfRoundedGradientsHasALevelWithinNodesAndOneBetweenThem) {
  const Group group{.ranks = 32, .of_node = 8};
  EXPECT_DOUBLE_EQ(rounded_scatter_seconds(simple_machine(), group, 3200, 1600),
                   1 + 7 * 0.01 + 2800.0 / 100 + 1 + 4 * 0.1 + 150.0 / 5);
  EXPECT_DOUBLE_EQ(rounded_sent_bytes(group, 3200, 1600), 2800 + 150);
}

TEST(CollectiveTime, OfRoundedGradientsHasOneLevelInOneNodeAndInUnequalNodes) {
  EXPECT_DOUBLE_EQ(rounded_scatter_seconds(simple_machine(), {.ranks = 8, .of_node = 8}, 1600, 800),
                   1 + 7 * 0.01 + 700.0 / 100);
  EXPECT_DOUBLE_EQ(rounded_scatter_seconds(simple_machine(), {.ranks = 2, .of_node = 1}, 200, 100),
                   1 + 2 * 0.1 + 50.0 / 5);
  const Group unequal{.ranks = 12, .of_node = 8};
  EXPECT_DOUBLE_EQ(rounded_scatter_seconds(simple_machine(), unequal, 2400, 1200), 1 + 9 * 0.01 + 2 * 0.1 + 400.0 / 5);
  EXPECT_DOUBLE_EQ(rounded_sent_bytes(unequal, 2400, 1200), 1100);
}

TEST(CollectiveTime, NeighboursAreTheRanksOfTp) {
  const Machine m = simple_machine();
  EXPECT_EQ(tp_group(m, 4).of_node, 4);
  EXPECT_EQ(tp_group(m, 16).of_node, 8);
  EXPECT_EQ(dp_group(m, 16, 2).of_node, 4);
  EXPECT_EQ(dp_group(m, 16, 16).of_node, 1);
  EXPECT_EQ(dp_group(m, 2, 1).of_node, 2);
}

TEST(CollectiveTime, OfTotalsHasAMessageForEachDoublingOfRanks) {
  EXPECT_DOUBLE_EQ(host_exchange_seconds(simple_machine(), 16, 10), 4 * 0.5 + 160.0 / 5);
  EXPECT_DOUBLE_EQ(host_exchange_seconds(simple_machine(), 8, 10), 3 * 0.5 + 80.0 / 100);
}

}  // namespace
}  // namespace weft::testing
