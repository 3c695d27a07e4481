// launch/threads.h: number of OpenMP threads of a rank, so that the ranks of a host do not compete for cores.
#pragma once

#include <string>
#include <vector>

namespace weft {

class Communicator;

// OMP_NUM_THREADS if it is set, otherwise this rank's share of the cores that it may run on. All ranks call
// it.
int threads_for_this_rank(Communicator* world);

struct RankCores {
  std::string host;
  std::vector<int> cores;  // indices of the cores that the rank may run on
};

// A core is divided among the ranks of its host that may run on it; at least 1 thread. `quota` limits the sum
// over the host's ranks (a container's CPU limit); 0 = no limit.
int fair_share(const std::vector<RankCores>& ranks, int rank, double quota);

}  // namespace weft
