// parallel/placement/numa.h: a host's NUMA nodes (parts of the machine with memory of their own), and which of them a
// rank belongs to.
//
// Read from Linux's sysfs (Documentation/ABI/stable/sysfs-devices-node): a library for it, such as hwloc, would be one
// more dependency of a program that runs on bare nodes.
#pragma once

#include <string>
#include <vector>

#include "parallel/placement/cores.h"

namespace weft {

struct NumaNode {
  int id = 0;
  Cores cores;
};

// Those with cores: a node may also be memory alone. Empty where sysfs does not tell, as in some containers.
std::vector<NumaNode> numa_nodes(const std::string& sysfs = "/sys");

inline constexpr int kUnknownNode = -1;
// Of a device at a PCI address ("0000:1b:00.0").
int numa_node_of_device(const std::string& pci_address, const std::string& sysfs = "/sys");

// The nodes that have some of these cores, ascending.
std::vector<int> nodes_of(const std::vector<NumaNode>& nodes, const Cores& cores);

struct RankOfHost {
  int rank = 0, size = 1;       // among the ranks of the host
  int gpu_node = kUnknownNode;  // the node of its GPU
};

// The cores of the nodes that a rank belongs to: that of its GPU, or a share of all nodes. Neighbouring ranks, which
// may be a tensor-parallel group, come to the same node, and fewer ranks than nodes have several each. Empty: the rank
// stays as it is. It does if
// - `cores`, its own, are not the whole machine: then its launcher has chosen them;
// - there is one node, or the rank has all of them;
// - the ranks do not divide the nodes, or nodes have different numbers of cores. Ranks wait for the slowest one, so
//   equal shares of everything are better.
Cores cores_to_bind_to(const std::vector<NumaNode>& nodes, const Cores& cores, const RankOfHost& rank);

}  // namespace weft
