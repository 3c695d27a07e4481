// tests/parallel/placement/report_test.cpp: the lines of the plan on ranks' places, and its warnings.
#include "parallel/placement/report.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/support/errors.h"

namespace weft::testing {
namespace {

// `hosts` hosts of two NUMA nodes with 16 cores and `ranks` ranks each, bound by Weft.
std::vector<RankPlace> on_two_nodes(int hosts, int ranks, bool gpus = false) {
  std::vector<RankPlace> all;
  for (int h = 0; h < hosts; ++h)
    for (int r = 0; r < ranks; ++r) {
      const int node = 2 * r / ranks;
      RankPlace place{.host = fmt::format("node{}", h),
                      .cores = cores_from_text(node == 0 ? "0-15" : "16-31"),
                      .threads = 32 / ranks,
                      .nodes = {node},
                      .nodes_of_host = 2,
                      .bound = true};
      if (gpus) place.gpu = r, place.gpu_node = node;
      all.push_back(place);
    }
  return all;
}

PlacementReport report_of(const std::vector<RankPlace>& ranks) { return describe_placement(ranks, {}); }
std::string placement(const std::vector<RankPlace>& ranks) { return report_of(ranks).placement; }
std::string only_warning(const std::vector<RankPlace>& ranks) {
  const std::vector<std::string> warnings = report_of(ranks).warnings;
  EXPECT_EQ(warnings.size(), 1u);
  return warnings.empty() ? "" : warnings[0];
}

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
      "Weft, "
      "1 host (node1) x 2 ranks: local rank 0: node 0, cores 0-15, 16 threads; 1: node 1, cores 16-31, 16 threads");
}

TEST(Placement, StaysShortHoweverHostsDiffer) {
  std::vector<RankPlace> ranks;
  for (int h = 0; h < 100; ++h) ranks.push_back({.host = fmt::format("node{}", h), .cores = {h}});
  EXPECT_TRUE(placement(ranks).ends_with(", 96 other hosts")) << placement(ranks);
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

TEST(PlacementWarnings, AreNoneForEqualSharesOfHosts) { EXPECT_TRUE(report_of(on_two_nodes(2, 4)).warnings.empty()); }

TEST(PlacementWarnings, NameRanksWithFewerCores) {
  const std::vector<RankPlace> ranks(4, RankPlace{.host = "a", .cores = {0}});
  EXPECT_EQ(only_warning(ranks), "a: 4 ranks may run on 1 core only");
}

TEST(PlacementWarnings, NameAContainersLimit) {
  const std::vector<RankPlace> ranks(4, RankPlace{.host = "a", .cores = {0, 1, 2, 3}, .quota = 2.5});
  EXPECT_EQ(only_warning(ranks), "a: the container may use 2.5 cores for 4 ranks");
}

TEST(PlacementWarnings, NameTooManyThreads) {
  const std::vector<RankPlace> ranks(2, RankPlace{.host = "a", .cores = {0, 1}, .threads = 2});
  EXPECT_EQ(only_warning(ranks), "a: the ranks have 4 threads on 2 cores: lower OMP_NUM_THREADS");
}

TEST(PlacementWarnings, NameRanksThatShareCoresUnequally) {
  EXPECT_EQ(only_warning({{.host = "a", .cores = {0, 1}}, {.host = "a", .cores = {1, 2}}}),
            "a: ranks 0 and 1 share core 1, but not all cores: bind them to equal or separate ones");
}

TEST(PlacementWarnings, NameAGpuOfAnotherNode) {
  std::vector<RankPlace> ranks = on_two_nodes(1, 2, true);
  ranks[1].gpu_node = 0;
  EXPECT_EQ(only_warning(ranks), "node0: the GPU of rank 1 is at NUMA node 0, its cores (16-31) at node 1");
}

TEST(PlacementWarnings, NameRanksThatDoNotDivideTheNodes) {
  const RankPlace unbound{.host = "a", .cores = {0, 1, 2, 3}, .nodes = {0, 1}, .nodes_of_host = 2};
  std::vector<RankPlace> ranks(3, unbound);
  EXPECT_EQ(only_warning(ranks), "a: 3 ranks cannot be divided evenly among 2 NUMA nodes: each uses memory of all");
  for (RankPlace& r : ranks) r.stays = true;  // as parallel.bind says
  EXPECT_TRUE(report_of(ranks).warnings.empty());
}

TEST(PlacementWarnings, NameUnequalThreads) {
  EXPECT_EQ(only_warning({{.host = "a", .cores = {0}, .threads = 1}, {.host = "a", .cores = {1, 2, 3}, .threads = 3}}),
            "rank 0 on a has 1 thread and rank 1 on a has 3: all wait for the slowest");
}

TEST(PlacementWarnings, NameHostsWithUnequalNumbersOfRanks) {
  EXPECT_EQ(only_warning({{.host = "a", .cores = {0}}, {.host = "a", .cores = {1}}, {.host = "b", .cores = {0}}}),
            "b has 1 rank and a has 2: sums cross the network once for each rank, not once for each host");
}

TEST(PlacementWarnings, AreGivenOnceForManyHosts) {
  std::vector<RankPlace> ranks;
  for (const char* host : {"a", "a", "b", "b", "c", "c"}) ranks.push_back({.host = host, .cores = {0}});
  EXPECT_EQ(only_warning(ranks), "a: 2 ranks may run on 1 core only (3 hosts)");
}

TEST(PlacementReport, HasTheNetworkOfSeveralHostsAlone) {
  EXPECT_EQ(report_of(on_two_nodes(1, 4)).network, "");
  EXPECT_TRUE(report_of(on_two_nodes(2, 4)).network.starts_with("MPI over TCP"));
  EXPECT_TRUE(only_warning(on_two_nodes(2, 4, /*gpus=*/true)).ends_with(" (2 hosts)"));
}

}  // namespace
}  // namespace weft::testing
