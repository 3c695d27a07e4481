// parallel/placement/cores.h: the cores that a thread may run on, and a rank's share of its host's.
#pragma once

#include <string>
#include <vector>

namespace weft {

using Cores = std::vector<int>;  // numbers of logical processors, ascending

// Parses "0-3,8", the format of Linux's lists of processors. Returns nothing if `text` is not such a list.
Cores cores_from_text(const std::string& text);
std::string text_of(const Cores& cores);

Cores cores_of_this_thread();
// Binds the calling thread and all threads that it starts. Returns true if the system allowed it.
bool bind_this_thread(const Cores& cores);

// Returns the cores that the control group (a container's CPU limit) lets all its processes use together; 0 = no limit.
double container_quota(const std::string& sysfs = "/sys");

// Returns the threads of a rank, at least 1: each core is divided among the ranks of a host that may run on it. `quota`
// limits the sum over the ranks; 0 = no limit.
int fair_share(const std::vector<Cores>& ranks_of_host, int rank, double quota);

// Returns OMP_NUM_THREADS if it is set, otherwise fair_share() under this host's quota.
int num_threads_of(const std::vector<Cores>& ranks_of_host, int rank);

}  // namespace weft
