// parallel/placement/numa.cpp: reads nodes from sysfs and divides them among ranks.
#include "parallel/placement/numa.h"

#include <algorithm>
#include <fstream>

namespace weft {
namespace {

std::string first_line_of(const std::string& file) {  // returns an empty string if it cannot be read
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  return line;
}

Cores cores_of(const std::vector<NumaNode>& nodes) {
  Cores all;
  for (const NumaNode& node : nodes) all.insert(all.end(), node.cores.begin(), node.cores.end());
  std::ranges::sort(all);
  return all;
}

}  // namespace

std::vector<NumaNode> numa_nodes(const std::string& sysfs) {
  const std::string folder = sysfs + "/devices/system/node";
  std::vector<NumaNode> nodes;
  for (const int id : cores_from_text(first_line_of(folder + "/online"))) {  // "online" is a CPU list
    Cores cores = cores_from_text(first_line_of(folder + "/node" + std::to_string(id) + "/cpulist"));
    if (!cores.empty()) nodes.push_back({id, std::move(cores)});
  }
  return nodes;
}

int numa_node_of_device(const std::string& pci_address, const std::string& sysfs) {
  std::ifstream in(sysfs + "/bus/pci/devices/" + pci_address + "/numa_node");
  int id = kUnknownNode;
  return in >> id ? id : kUnknownNode;
}

std::vector<int> nodes_of(const std::vector<NumaNode>& nodes, const Cores& cores) {
  std::vector<int> ids;
  for (const NumaNode& node : nodes)
    if (std::ranges::any_of(node.cores, [&](int core) { return std::ranges::binary_search(cores, core); }))
      ids.push_back(node.id);
  return ids;
}

Cores cores_to_bind_to(const std::vector<NumaNode>& nodes, const Cores& cores, const RankOfHost& rank) {
  if (nodes.size() < 2 || cores != cores_of(nodes)) return {};
  for (const NumaNode& node : nodes)
    if (node.id == rank.gpu_node) return node.cores;
  const size_t count = nodes.size(), ranks = static_cast<size_t>(rank.size), index = static_cast<size_t>(rank.rank);
  const bool divide = ranks % count == 0 || (ranks > 1 && count % ranks == 0);
  const bool equal =
      std::ranges::all_of(nodes, [&](const NumaNode& n) { return n.cores.size() == nodes[0].cores.size(); });
  if (!divide || !equal) return {};
  const size_t first = index * count / ranks, each = std::max<size_t>(1, count / ranks);
  return cores_of(
      {nodes.begin() + static_cast<ptrdiff_t>(first), nodes.begin() + static_cast<ptrdiff_t>(first + each)});
}

}  // namespace weft
