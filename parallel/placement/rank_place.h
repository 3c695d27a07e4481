// parallel/placement/rank_place.h: describes the placement of a run's ranks, and lists the ranks of each host.
#pragma once

#include <string>
#include <vector>

#include "parallel/placement/network.h"
#include "parallel/placement/numa.h"

namespace weft {

struct RankPlace {  // what a rank reports
  std::string host;
  Cores cores;  // cores that it may run on
  int threads = 1;
  std::vector<int> nodes;  // nodes that contain these cores
  int nodes_of_host = 0;   // 0: unknown
  bool bound = false;      // true if Weft has bound the rank
  bool stays = false;      // true if parallel.bind is false, or OpenMP's variables place threads
  int gpu = -1;            // index of its GPU; -1: the rank computes on the CPU
  int gpu_node = kUnknownNode;
  double quota = 0;  // the container's quota in cores; 0 = no limit
  HostNetworks networks;
};

// Both functions convert between a place and the text that a rank sends.
std::string to_text(const RankPlace& place);
RankPlace place_from_text(const std::string& text);

struct PlacedRank {
  size_t rank = 0;  // rank in the run
  const RankPlace* place = nullptr;
};
struct PlacedHost {
  std::string name;
  std::vector<PlacedRank> ranks;
};
// Returns hosts in the order of their first ranks. REQUIRES: `ranks` contains all ranks in rank order, and outlives the
// result.
std::vector<PlacedHost> hosts_of(const std::vector<RankPlace>& ranks);

Cores cores_together(const std::vector<PlacedRank>& ranks);
std::string counted(size_t count, const char* one);  // returns "1 core", "2 cores"

}  // namespace weft
