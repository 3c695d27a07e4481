// tests/parallel/placement/numa_test.cpp: NUMA nodes of made-up machines, and the ranks that come to them.
#include "parallel/placement/numa.h"

#include <gtest/gtest.h>

#include "tests/parallel/placement/machine.h"

namespace weft::testing {
namespace {

Cores cores(const char* text) { return cores_from_text(text); }

std::vector<NumaNode> two_sockets() { return {{0, cores("0-15,32-47")}, {1, cores("16-31,48-63")}}; }

// The cores of each of `size` ranks without GPUs that were left unbound on the whole machine.
std::vector<std::string> placed(const std::vector<NumaNode>& nodes, const char* machine, int size) {
  std::vector<std::string> all;
  for (int r = 0; r < size; ++r)
    all.push_back(text_of(cores_to_bind_to(nodes, cores(machine), {.rank = r, .size = size})));
  return all;
}

TEST(NumaNodes, AreReadFromSysfs) {
  const Machine machine;
  machine.has("devices/system/node/online", "0-1");
  machine.has_node(0, "0-15,32-47");
  machine.has_node(1, "16-31,48-63");
  for (int gpu = 0; gpu < 8; ++gpu)
    machine.has("bus/pci/devices/0000:" + std::to_string(10 + gpu) + ":00.0/numa_node", gpu < 4 ? "0" : "1");
  const std::vector<NumaNode> nodes = numa_nodes(machine.sysfs());
  ASSERT_EQ(nodes.size(), 2u);
  EXPECT_EQ(nodes[1].id, 1);
  EXPECT_EQ(text_of(nodes[1].cores), "16-31,48-63");
  EXPECT_EQ(numa_node_of_device("0000:13:00.0", machine.sysfs()), 0);
  EXPECT_EQ(numa_node_of_device("0000:14:00.0", machine.sysfs()), 1);
}

TEST(NumaNodes, OfMemoryAloneAreLeftOut) {  // a memory expander, or the memory of a GPU
  const Machine machine;
  machine.has("devices/system/node/online", "0-1,4");
  machine.has_node(0, "0-3");
  machine.has_node(1, "");
  machine.has_node(4, "4-7");
  const std::vector<NumaNode> nodes = numa_nodes(machine.sysfs());
  ASSERT_EQ(nodes.size(), 2u);
  EXPECT_EQ(nodes[1].id, 4);
}

TEST(NumaNodes, AreUnknownWithoutSysfs) {
  const Machine machine;
  EXPECT_TRUE(numa_nodes(machine.sysfs()).empty());
  EXPECT_EQ(numa_node_of_device("0000:13:00.0", machine.sysfs()), kUnknownNode);
  machine.has("bus/pci/devices/0000:13:00.0/numa_node", "-1");  // as in most virtual machines
  EXPECT_EQ(numa_node_of_device("0000:13:00.0", machine.sysfs()), kUnknownNode);
}

TEST(NumaNodes, OfCoresAreThoseThatHaveSome) {
  EXPECT_EQ(nodes_of(two_sockets(), cores("16-31")), std::vector<int>{1});
  EXPECT_EQ(nodes_of(two_sockets(), cores("15-16")), (std::vector<int>{0, 1}));
  EXPECT_EQ(nodes_of({}, cores("0-3")), std::vector<int>{});
}

TEST(RanksOnNodes, AreDividedEvenlyAndNeighboursComeTogether) {
  const std::string first = "0-15,32-47", second = "16-31,48-63";
  EXPECT_EQ(placed(two_sockets(), "0-63", 2), (std::vector<std::string>{first, second}));
  EXPECT_EQ(placed(two_sockets(), "0-63", 4), (std::vector<std::string>{first, first, second, second}));
}

TEST(RanksOnNodes, HaveSeveralEachIfTheyAreFewer) {
  const std::vector<NumaNode> four = {{0, {0, 1}}, {1, {2, 3}}, {2, {4, 5}}, {3, {6, 7}}};
  EXPECT_EQ(placed(four, "0-7", 2), (std::vector<std::string>{"0-3", "4-7"}));
}

TEST(RanksOnNodes, ComeToThatOfTheirGpu) {
  const RankOfHost rank{.rank = 0, .size = 1, .gpu_node = 1};
  EXPECT_EQ(text_of(cores_to_bind_to(two_sockets(), cores("0-63"), rank)), "16-31,48-63");
  const RankOfHost elsewhere{.rank = 0, .size = 2, .gpu_node = 7};  // a node without cores
  EXPECT_EQ(text_of(cores_to_bind_to(two_sockets(), cores("0-63"), elsewhere)), "0-15,32-47");
}

TEST(RanksOnNodes, StayWhereTheirLauncherPutThem) {
  for (const char* mask : {"0-31", "0-15,32-47", "5"}) EXPECT_EQ(placed(two_sockets(), mask, 2)[1], "") << mask;
}

TEST(RanksOnNodes, StayOnAMachineWithoutNodesToChooseFrom) {
  EXPECT_EQ(placed({}, "0-63", 2)[1], "");
  EXPECT_EQ(placed({{0, {0, 1}}}, "0-1", 2)[1], "");
  EXPECT_EQ(placed(two_sockets(), "0-63", 1)[0], "");
}

TEST(RanksOnNodes, StayIfTheyCannotHaveEqualShares) {
  EXPECT_EQ(placed(two_sockets(), "0-63", 3), (std::vector<std::string>{"", "", ""}));
  EXPECT_EQ(placed({{0, {0, 1, 2}}, {1, {3}}}, "0-3", 2), (std::vector<std::string>{"", ""}));
}

}  // namespace
}  // namespace weft::testing
