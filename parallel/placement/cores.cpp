// parallel/placement/cores.cpp: reads Linux affinity masks and CPU lists.
#include "parallel/placement/cores.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>

namespace weft {

Cores cores_from_text(const std::string& text) {
  Cores cores;
  std::istringstream in(text);
  for (int first, last; in >> first; in.ignore(1, ',')) {
    last = first;
    if (!in.eof() && in.peek() == '-') in.ignore(1) >> last;
    if (in.fail() || first < 0 || last < first || last >= CPU_SETSIZE) return {};
    for (int core = first; core <= last; ++core) cores.push_back(core);
  }
  return cores;
}

std::string text_of(const Cores& cores) {
  std::string text;
  for (size_t begin = 0, end; begin < cores.size(); begin = end) {
    for (end = begin + 1; end < cores.size() && cores[end] == cores[end - 1] + 1;) ++end;
    text += fmt::format("{}{}", text.empty() ? "" : ",", cores[begin]);
    if (end > begin + 1) text += fmt::format("-{}", cores[end - 1]);
  }
  return text;
}

Cores cores_of_this_thread() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) return {0};
  Cores cores;
  for (int core = 0; core < CPU_SETSIZE; ++core)
    if (CPU_ISSET(core, &set)) cores.push_back(core);
  return cores;
}

bool bind_this_thread(const Cores& cores) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int core : cores) CPU_SET(core, &set);
  return sched_setaffinity(0, sizeof set, &set) == 0;
}

double container_quota(const std::string& sysfs) {
  std::ifstream in(sysfs + "/fs/cgroup/cpu.max");
  double quota = 0, period = 0;
  return in >> quota >> period && period > 0 ? quota / period : 0;  // "max 100000" fails to read, which means no limit
}

int fair_share(const std::vector<Cores>& ranks_of_host, int rank, double quota) {
  double share = 0;
  for (const int core : ranks_of_host.at(rank)) {
    const auto may_use_it = [&](const Cores& cores) { return std::ranges::binary_search(cores, core); };
    share += 1.0 / static_cast<double>(std::ranges::count_if(ranks_of_host, may_use_it));
  }
  if (quota > 0) share = std::min(share, quota / static_cast<double>(ranks_of_host.size()));
  return std::max(1, static_cast<int>(share + 1e-6));  // so that 3 times 1/3 is 1
}

int num_threads_of(const std::vector<Cores>& ranks_of_host, int rank) {
  const char* const wanted = std::getenv("OMP_NUM_THREADS");
  const int given = wanted != nullptr ? std::atoi(wanted) : 0;
  return given > 0 ? given : fair_share(ranks_of_host, rank, container_quota());
}

}  // namespace weft
