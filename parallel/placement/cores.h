// parallel/placement/cores.h: the cores that a thread may run on, and a rank's share of its host's.
#pragma once

#include <string>
#include <vector>

namespace weft {

using Cores = std::vector<int>;  // numbers of logical processors, ascending

// "0-3,8", as Linux writes lists of processors. What is no such list is empty.
Cores cores_from_text(const std::string& text);
std::string text_of(const Cores& cores);

Cores cores_of_this_thread();
// Of the calling thread and of all that it starts. Whether the system allowed it.
bool bind_this_thread(const Cores& cores);

// Cores that the control group (a container's CPU limit) lets all its processes use together; 0 = no limit.
double container_quota(const std::string& sysfs = "/sys");

// A core is divided among the ranks of a host that may run on it; at least 1 thread. `quota` limits the sum over the
// ranks; 0 = no limit.
int fair_share(const std::vector<Cores>& ranks_of_host, int rank, double quota);

// OMP_NUM_THREADS if it is set, otherwise fair_share() under this host's quota.
int num_threads_of(const std::vector<Cores>& ranks_of_host, int rank);

}  // namespace weft
