// launch/threads.h: how many OpenMP threads a rank should use, so that the ranks of a host do not get in each other's
// way.
#pragma once

#include <string>
#include <vector>

namespace weft {

class Communicator;

// OMP_NUM_THREADS if it is set; else this rank's share of the cores that it may run on. All ranks call it.
int threads_for_this_rank(Communicator* world);

struct RankCores {
  std::string host;
  std::vector<int> cores;  // numbers of those that the rank may run on
};

// A core is divided among the ranks of its host that may run on it; at least 1 thread. `quota` caps what the host's
// ranks use together (a container's CPU limit); 0 = no cap.
int fair_share(const std::vector<RankCores>& ranks, int rank, double quota);

}  // namespace weft
