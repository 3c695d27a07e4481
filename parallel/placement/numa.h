// parallel/placement/numa.h: finds a host's NUMA nodes (cores with their own memory), and the cores for each rank.
//
// The nodes are read from Linux's sysfs (Documentation/ABI/stable/sysfs-devices-node), because a library such as hwloc
// would be one more dependency on the cluster's machines.
#pragma once

#include <string>
#include <vector>

#include "parallel/placement/cores.h"

namespace weft {

struct NumaNode {
  int id = 0;
  Cores cores;
};

// Returns the nodes that have cores (a node may consist only of memory), or no nodes if sysfs does not list them, as in
// some containers.
std::vector<NumaNode> numa_nodes(const std::string& sysfs = "/sys");

inline constexpr int kUnknownNode = -1;
// Returns the node of a device at a PCI address ("0000:1b:00.0").
int numa_node_of_device(const std::string& pci_address, const std::string& sysfs = "/sys");

// Returns the ids of the nodes that contain some of these cores, in ascending order.
std::vector<int> nodes_of(const std::vector<NumaNode>& nodes, const Cores& cores);

struct RankOfHost {
  int rank = 0, size = 1;       // among the ranks of the host
  int gpu_node = kUnknownNode;  // the node of its GPU
};

// Returns the cores of the nodes that a rank belongs to: its GPU's node, or else its share of all nodes. Neighboring
// ranks, which may form a tensor-parallel group, share a node. If there are fewer ranks than nodes, each rank gets
// several nodes. Returns no cores, which means that the rank is not bound, if
// - `cores`, which the rank may use, are not all cores of the machine, because the launcher has then chosen them;
// - there is only one node, or only one rank without a GPU;
// - the nodes cannot be divided evenly among the ranks, or have different numbers of cores. All ranks then share all
//   cores, because every rank waits for the slowest one.
Cores cores_to_bind_to(const std::vector<NumaNode>& nodes, const Cores& cores, const RankOfHost& rank);

}  // namespace weft
