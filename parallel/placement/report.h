// parallel/placement/report.h: what each rank of a run got, in a few lines however many ranks there are, and what is
// bad about it.
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

struct PlacementReport {
  std::string placement;              // one line, longer only where hosts differ; empty: nothing to tell
  std::string network;                // one line; empty on a single host
  std::vector<std::string> warnings;  // one line each
};

// `ranks`: of all ranks, in rank order.
PlacementReport describe_placement(const std::vector<RankPlace>& ranks, const NetworkChoice& choice);

}  // namespace weft
