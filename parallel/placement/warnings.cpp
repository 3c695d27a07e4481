// parallel/placement/warnings.cpp: checks each host, and compares the hosts.
#include "parallel/placement/warnings.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>

namespace weft {
namespace {

// Adds one warning for all hosts with a finding, which names the first of these hosts and their number.
template <typename Finding>
void warn_of_hosts(const std::vector<PlacedHost>& hosts, std::vector<std::string>& warnings, Finding&& finding) {
  std::string first;
  size_t count = 0;
  for (const PlacedHost& host : hosts) {
    const std::string found = finding(host);
    if (found.empty()) continue;
    if (count++ == 0) first = fmt::format("{}: {}", host.name, found);
  }
  if (count > 1) first += fmt::format(" ({} hosts)", count);
  if (count > 0) warnings.push_back(first);
}

std::string too_few_cores(const PlacedHost& host) {
  const RankPlace& first = *host.ranks.front().place;
  const size_t ranks = host.ranks.size(), cores = cores_together(host.ranks).size();
  if (first.quota > 0 && first.quota < static_cast<double>(std::min(ranks, cores)))
    return fmt::format("the container may use only {:.3g} cores for {}", first.quota, counted(ranks, "rank"));
  if (cores < ranks) return fmt::format("{} may run on only {}", counted(ranks, "rank"), counted(cores, "core"));
  const int threads = std::accumulate(host.ranks.begin(), host.ranks.end(), 0,
                                      [](int sum, const PlacedRank& r) { return sum + r.place->threads; });
  if (static_cast<size_t>(threads) > cores)
    return fmt::format("the ranks have {} threads on {}: lower OMP_NUM_THREADS", threads, counted(cores, "core"));
  return "";
}

// Ranks with equal affinity masks share their cores evenly. If different masks overlap, the ranks' shares differ.
std::string overlapping(const PlacedHost& host) {
  std::map<int, const PlacedRank*> owner;
  for (const PlacedRank& r : host.ranks) {
    for (const int core : r.place->cores) {
      const PlacedRank& other = *owner.try_emplace(core, &r).first->second;
      if (other.place->cores != r.place->cores)
        return fmt::format(
            "ranks {} and {} share core {}, but not all cores: bind them to the same cores or to separate cores",
            other.rank, r.rank, core);
    }
  }
  return "";
}

std::string far_gpu(const PlacedHost& host) {
  for (const PlacedRank& r : host.ranks) {
    const RankPlace& p = *r.place;
    if (p.gpu < 0 || p.gpu_node == kUnknownNode || p.nodes.empty() || std::ranges::count(p.nodes, p.gpu_node) > 0)
      continue;
    return fmt::format("the GPU of rank {} is at NUMA node {}, but the rank's cores ({}) are at node {}", r.rank,
                       p.gpu_node, text_of(p.cores), text_of(p.nodes));
  }
  return "";
}

std::string on_all_nodes(const PlacedHost& host) {
  const RankPlace& first = *host.ranks.front().place;
  const size_t ranks = host.ranks.size(), nodes = static_cast<size_t>(first.nodes_of_host);
  if (ranks < 2 || first.gpu >= 0 || first.bound || first.stays || nodes < 2 || first.nodes.size() < nodes) return "";
  return fmt::format("{} cannot be divided evenly among {} NUMA nodes, so each rank uses memory of all nodes",
                     counted(ranks, "rank"), nodes);
}

void warn_of_differences(const std::vector<RankPlace>& ranks, const std::vector<PlacedHost>& hosts,
                         std::vector<std::string>& warnings) {
  if (ranks.front().gpu >= 0) return;  // GPUs compute, and NCCL communicates
  const auto [least, most] = std::ranges::minmax_element(ranks, {}, [](const RankPlace& p) { return p.threads; });
  if (least->threads != most->threads)
    warnings.push_back(fmt::format("rank {} on {} has {}, but rank {} on {} has {}: all ranks wait for the slowest",
                                   least - ranks.begin(), least->host,
                                   counted(static_cast<size_t>(least->threads), "thread"), most - ranks.begin(),
                                   most->host, most->threads));
  const auto [fewest, largest] =
      std::ranges::minmax_element(hosts, {}, [](const PlacedHost& h) { return h.ranks.size(); });
  if (fewest->ranks.size() != largest->ranks.size())
    warnings.push_back(
        fmt::format("{} has {}, but {} has {}: sums cross the network once per rank instead of once per host",
                    fewest->name, counted(fewest->ranks.size(), "rank"), largest->name, largest->ranks.size()));
}

}  // namespace

std::vector<std::string> placement_warnings(const std::vector<RankPlace>& ranks, const std::vector<PlacedHost>& hosts,
                                            const NetworkChoice& choice) {
  std::vector<std::string> warnings;
  for (const auto& finding : {too_few_cores, overlapping, far_gpu, on_all_nodes})
    warn_of_hosts(hosts, warnings, finding);
  warn_of_differences(ranks, hosts, warnings);
  if (hosts.size() > 1 && ranks.front().gpu >= 0)
    warn_of_hosts(hosts, warnings,
                  [&](const PlacedHost& h) { return network_warning(h.ranks.front().place->networks, choice); });
  return warnings;
}

}  // namespace weft
