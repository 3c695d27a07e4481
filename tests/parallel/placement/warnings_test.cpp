// tests/parallel/placement/warnings_test.cpp: what the plan warns of.
#include "parallel/placement/warnings.h"

#include <gtest/gtest.h>

#include "tests/parallel/placement/places.h"

namespace weft::testing {
namespace {

std::string only_warning(const std::vector<RankPlace>& ranks) {
  const std::vector<std::string> warnings = report_of(ranks).warnings;
  EXPECT_EQ(warnings.size(), 1u);
  return warnings.empty() ? "" : warnings[0];
}

TEST(PlacementWarnings, AreNoneForEqualSharesOfHosts) { EXPECT_TRUE(report_of(on_two_nodes(2, 4)).warnings.empty()); }

TEST(PlacementWarnings, NameRanksWithFewerCores) {
  const std::vector<RankPlace> ranks(4, RankPlace{.host = "a", .cores = {0}});
  EXPECT_EQ(only_warning(ranks), "a: 4 ranks may run on only 1 core");
}

TEST(PlacementWarnings, NameAContainersLimit) {
  const std::vector<RankPlace> ranks(4, RankPlace{.host = "a", .cores = {0, 1, 2, 3}, .quota = 2.5});
  EXPECT_EQ(only_warning(ranks), "a: the container may use only 2.5 cores for 4 ranks");
}

TEST(PlacementWarnings, NameTooManyThreads) {
  const std::vector<RankPlace> ranks(2, RankPlace{.host = "a", .cores = {0, 1}, .threads = 2});
  EXPECT_EQ(only_warning(ranks), "a: the ranks have 4 threads on 2 cores: lower OMP_NUM_THREADS");
}

TEST(PlacementWarnings, NameRanksThatShareCoresUnequally) {
  EXPECT_EQ(only_warning({{.host = "a", .cores = {0, 1}}, {.host = "a", .cores = {1, 2}}}),
            "a: ranks 0 and 1 share core 1, but not all cores: bind them to the same cores or to separate cores");
}

TEST(PlacementWarnings, NameAGpuOfAnotherNode) {
  std::vector<RankPlace> ranks = on_two_nodes(1, 2, true);
  ranks[1].gpu_node = 0;
  EXPECT_EQ(only_warning(ranks),
            "node0: the GPU of rank 1 is at NUMA node 0, but the rank's cores (16-31) are at node 1");
}

TEST(PlacementWarnings, NameRanksThatDoNotDivideTheNodes) {
  const RankPlace unbound{.host = "a", .cores = {0, 1, 2, 3}, .nodes = {0, 1}, .nodes_of_host = 2};
  std::vector<RankPlace> ranks(3, unbound);
  EXPECT_EQ(only_warning(ranks),
            "a: 3 ranks cannot be divided evenly among 2 NUMA nodes, so each rank uses memory of all nodes");
  for (RankPlace& r : ranks) r.stays = true;  // as parallel.bind says
  EXPECT_TRUE(report_of(ranks).warnings.empty());
}

TEST(PlacementWarnings, NameUnequalThreads) {
  EXPECT_EQ(only_warning({{.host = "a", .cores = {0}, .threads = 1}, {.host = "a", .cores = {1, 2, 3}, .threads = 3}}),
            "rank 0 on a has 1 thread, but rank 1 on a has 3: all ranks wait for the slowest");
}

TEST(PlacementWarnings, NameHostsWithUnequalNumbersOfRanks) {
  EXPECT_EQ(only_warning({{.host = "a", .cores = {0}}, {.host = "a", .cores = {1}}, {.host = "b", .cores = {0}}}),
            "b has 1 rank, but a has 2: sums cross the network once per rank instead of once per host");
}

TEST(PlacementWarnings, AreGivenOnceForManyHosts) {
  std::vector<RankPlace> ranks;
  for (const char* host : {"a", "a", "b", "b", "c", "c"}) ranks.push_back({.host = host, .cores = {0}});
  EXPECT_EQ(only_warning(ranks), "a: 2 ranks may run on only 1 core (3 hosts)");
}

TEST(PlacementWarnings, NameTheNetworkOfGpusOnSeveralHosts) {
  EXPECT_TRUE(report_of(on_two_nodes(1, 4, /*gpus=*/true)).warnings.empty());
  EXPECT_TRUE(only_warning(on_two_nodes(2, 4, /*gpus=*/true)).starts_with("node0: no InfiniBand and no network card"));
}

}  // namespace
}  // namespace weft::testing
