// launch/threads.cpp: reads the affinity masks of all ranks and the CPU limit of a container.
#include "launch/threads.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "parallel/communicator.h"

namespace weft {
namespace {

std::string my_cores() {  // "host 0 1 5"
  cpu_set_t set;
  CPU_ZERO(&set);
  std::string text = host_name();
  if (sched_getaffinity(0, sizeof set, &set) != 0) return text + " 0";
  for (int core = 0; core < CPU_SETSIZE; ++core)
    if (CPU_ISSET(core, &set)) text += fmt::format(" {}", core);
  return text;
}

RankCores parsed_cores(const std::string& text) {
  std::istringstream in(text);
  RankCores rank;
  in >> rank.host;
  for (int core; in >> core;) rank.cores.push_back(core);
  return rank;
}

double container_quota() {  // cores that the control group may use; 0 = no limit
  std::ifstream in("/sys/fs/cgroup/cpu.max");
  double quota = 0, period = 0;
  return in >> quota >> period && period > 0 ? quota / period : 0;  // "max 100000" fails to read: no limit
}

}  // namespace

int fair_share(const std::vector<RankCores>& ranks, int rank, double quota) {
  const RankCores& mine = ranks.at(rank);
  double share = 0;
  for (const int core : mine.cores) {
    const auto shares_it = [&](const RankCores& other) {
      return other.host == mine.host && std::find(other.cores.begin(), other.cores.end(), core) != other.cores.end();
    };
    share += 1.0 / static_cast<double>(std::count_if(ranks.begin(), ranks.end(), shares_it));
  }
  const auto neighbours =
      std::count_if(ranks.begin(), ranks.end(), [&](const RankCores& other) { return other.host == mine.host; });
  if (quota > 0) share = std::min(share, quota / static_cast<double>(neighbours));
  return std::max(1, static_cast<int>(share + 1e-6));  // 3 times 1/3 must be 1
}

int threads_for_this_rank(Communicator* world) {
  std::vector<RankCores> ranks;
  if (world == nullptr) {
    ranks.push_back(parsed_cores(my_cores()));
  } else {
    for (const std::string& text : world->all_gather_strings(my_cores())) ranks.push_back(parsed_cores(text));
  }
  const char* wanted = std::getenv("OMP_NUM_THREADS");
  const int given = wanted != nullptr ? std::atoi(wanted) : 0;
  return given > 0 ? given : fair_share(ranks, world != nullptr ? world->rank() : 0, container_quota());
}

}  // namespace weft
