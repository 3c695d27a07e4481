// parallel/placement/cores.h: finds the cores that a thread may run on, and a rank's share of its host's cores.
#pragma once

#include <string>
#include <vector>

namespace weft {

using Cores = std::vector<int>;  // logical CPU numbers, ascending

// Parses a Linux CPU list such as "0-3,8". Returns no cores if `text` is not a CPU list.
Cores cores_from_text(const std::string& text);
std::string text_of(const Cores& cores);

Cores cores_of_this_thread();
// Binds the calling thread, and all threads that it starts later. Returns true if the system allowed this.
bool bind_this_thread(const Cores& cores);

// Returns the CPU limit of the control group (container), in cores for all its processes together; 0 = no limit.
double container_quota(const std::string& sysfs = "/sys");

// Returns the number of threads for a rank, at least 1. The ranks of a host that may run on a core share this core
// equally. `quota` limits the sum over the ranks; 0 = no limit.
int fair_share(const std::vector<Cores>& ranks_of_host, int rank, double quota);

// Returns OMP_NUM_THREADS if it is set, otherwise fair_share() under this host's quota.
int num_threads_of(const std::vector<Cores>& ranks_of_host, int rank);

}  // namespace weft
