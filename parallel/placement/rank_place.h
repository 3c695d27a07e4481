// parallel/placement/rank_place.h: what a rank of a run got, and the ranks of each host.
#pragma once

#include <string>
#include <vector>

#include "parallel/placement/network.h"
#include "parallel/placement/numa.h"

namespace weft {

struct RankPlace {  // what a rank reports
  std::string host;
  Cores cores;  // that it may run on
  int threads = 1;
  std::vector<int> nodes;  // that have these cores
  int nodes_of_host = 0;   // 0: unknown
  bool bound = false;      // by Weft
  bool stays = false;      // parallel.bind = false
  int gpu = -1;            // its index; -1: the rank computes on the CPU
  int gpu_node = kUnknownNode;
  double quota = 0;  // the container's, in cores; 0 = no limit
  HostNetworks networks;
};

// The text that a rank sends.
std::string to_text(const RankPlace& place);
RankPlace place_from_text(const std::string& text);

struct PlacedRank {
  size_t rank = 0;  // of the run
  const RankPlace* place = nullptr;
};
struct PlacedHost {
  std::string name;
  std::vector<PlacedRank> ranks;
};
// In the order of their first ranks. Points into `ranks`, those of all ranks in rank order.
std::vector<PlacedHost> hosts_of(const std::vector<RankPlace>& ranks);

Cores cores_together(const std::vector<PlacedRank>& ranks);
std::string counted(size_t count, const char* one);  // "1 core", "2 cores"

}  // namespace weft
