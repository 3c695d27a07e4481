// tests/parallel/placement/report_test.cpp: the lines of the plan on ranks' places.
#include "parallel/placement/report.h"

#include <gtest/gtest.h>

#include "tests/parallel/placement/places.h"

namespace weft::testing {
namespace {

std::string placement(const std::vector<RankPlace>& ranks) { return report_of(ranks).placement; }

TEST(Placement, IsOneLineForAThousandRanks) {
  EXPECT_EQ(placement(on_two_nodes(128, 8, /*gpus=*/true)),
            "128 hosts x 8 ranks: local rank 0-3: GPUs 0-3, node 0, cores 0-15, 4 threads each; "
            "4-7: GPUs 4-7, node 1, cores 16-31, 4 threads each; bound by Weft");
  EXPECT_TRUE(report_of(on_two_nodes(128, 8, true)).warnings.size() == 1);  // hosts without a network card
}

TEST(Placement, NamesHostsThatDiffer) {
  std::vector<RankPlace> ranks = on_two_nodes(3, 2);
  for (RankPlace& r : ranks)
    if (r.host == "node1") r.bound = false;
  EXPECT_EQ(
      placement(ranks),
      "2 hosts x 2 ranks: local rank 0: node 0, cores 0-15, 16 threads; 1: node 1, cores 16-31, 16 threads; bound by "
      "Weft | "
      "1 host (node1) x 2 ranks: local rank 0: node 0, cores 0-15, 16 threads; 1: node 1, cores 16-31, 16 threads");
}

TEST(Placement, StaysShortHoweverHostsDiffer) {
  std::vector<RankPlace> ranks;
  for (int h = 0; h < 100; ++h) ranks.push_back({.host = fmt::format("node{}", h), .cores = {h}});
  EXPECT_TRUE(placement(ranks).ends_with(" | 96 other hosts")) << placement(ranks);
}

TEST(Placement, OfRanksWithCoresOfTheirOwnSaysHowMany) {
  EXPECT_EQ(placement({{.host = "a", .cores = {0, 1}, .threads = 2}, {.host = "a", .cores = {2, 3}, .threads = 2}}),
            "1 host x 2 ranks: cores 0-3 (2 each), 2 threads each");
}

TEST(Placement, OfOneUnboundRankIsNotTold) { EXPECT_EQ(placement({{.host = "a", .cores = {0, 1}, .threads = 2}}), ""); }

TEST(Placement, IsSentWhole) {
  RankPlace place = on_two_nodes(1, 2, true)[1];
  place.networks = {.interfaces = {{"eth0", 25000, true}}, .infiniband = {"mlx5_0 (400 Gb/s)"}};
  EXPECT_EQ(to_text(place_from_text(to_text(place))), to_text(place));
  EXPECT_EQ(placement({place_from_text(to_text(place))}), placement({place}));
}

TEST(PlacementReport, HasTheNetworkOfSeveralHostsAlone) {
  EXPECT_EQ(report_of(on_two_nodes(1, 4)).network, "");
  EXPECT_TRUE(report_of(on_two_nodes(2, 4)).network.starts_with("MPI by default"));
}

}  // namespace
}  // namespace weft::testing
