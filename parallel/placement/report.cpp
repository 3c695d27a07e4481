// parallel/placement/report.cpp: groups ranks that got the same, and finds what will slow them down.
#include "parallel/placement/report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>

namespace weft {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(NetworkInterface, name, mbits, hardware)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(HostNetworks, interfaces, infiniband)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(RankPlace, host, threads, nodes, nodes_of_host, bound, stays, gpu, gpu_node, quota,
                                   networks)

std::string to_text(const RankPlace& place) {
  nlohmann::json j = place;
  j["cores"] = text_of(place.cores);
  return j.dump();
}
RankPlace place_from_text(const std::string& text) {
  const auto j = nlohmann::json::parse(text);
  auto place = j.get<RankPlace>();
  place.cores = cores_from_text(j.at("cores"));
  return place;
}

namespace {

struct PlacedRank {
  size_t rank = 0;  // of the run
  const RankPlace* place = nullptr;
};
struct PlacedHost {
  std::string name;
  std::vector<PlacedRank> ranks;
};

std::vector<PlacedHost> hosts_of(const std::vector<RankPlace>& ranks) {  // in the order of their first ranks
  std::vector<PlacedHost> hosts;
  std::map<std::string, size_t> index;
  for (size_t r = 0; r < ranks.size(); ++r) {
    const auto [at, is_new] = index.try_emplace(ranks[r].host, hosts.size());
    if (is_new) hosts.push_back({ranks[r].host, {}});
    hosts[at->second].ranks.push_back({r, &ranks[r]});
  }
  return hosts;
}

std::string counted(size_t count, const char* one) { return fmt::format("{} {}{}", count, one, count == 1 ? "" : "s"); }

Cores cores_together(const std::vector<PlacedRank>& ranks) {
  std::set<int> all;
  for (const PlacedRank& r : ranks) all.insert(r.place->cores.begin(), r.place->cores.end());
  return {all.begin(), all.end()};
}

// ---- what ranks got

bool look_alike(const RankPlace& a, const RankPlace& b) {
  return a.nodes == b.nodes && a.threads == b.threads && a.cores.size() == b.cores.size() && a.bound == b.bound &&
         (a.gpu < 0) == (b.gpu < 0);
}

std::string describe_gpus_of(const std::vector<PlacedRank>& ranks) {  // each sees all of its host's, or its own alone
  std::set<int> gpus;
  for (const PlacedRank& r : ranks) gpus.insert(r.place->gpu);
  if (*gpus.begin() < 0) return "";
  if (gpus.size() == 1 && ranks.size() > 1) return "a GPU each, ";
  return fmt::format("GPU{} {}, ", gpus.size() == 1 ? "" : "s", text_of(Cores(gpus.begin(), gpus.end())));
}

std::string describe_alike(const std::vector<PlacedRank>& ranks) {
  const RankPlace& first = *ranks.front().place;
  const Cores all = cores_together(ranks);
  std::string text = describe_gpus_of(ranks);
  if (first.nodes_of_host > 1 && !first.nodes.empty())
    text += fmt::format("node{} {}, ", first.nodes.size() == 1 ? "" : "s", text_of(first.nodes));
  text += fmt::format("core{} {}", all.size() == 1 ? "" : "s", text_of(all));
  if (all != first.cores) text += fmt::format(" ({} each)", first.cores.size());
  return text +
         fmt::format(", {}{}", counted(static_cast<size_t>(first.threads), "thread"), ranks.size() > 1 ? " each" : "");
}

std::string describe_ranks_of(const PlacedHost& host) {
  std::vector<std::string> parts;
  const size_t count = host.ranks.size();
  bool bound = false;
  for (size_t begin = 0, end; begin < count; begin = end) {
    for (end = begin + 1; end < count && look_alike(*host.ranks[begin].place, *host.ranks[end].place);) ++end;
    const bool all = begin == 0 && end == count;
    const std::string range = end == begin + 1 ? fmt::format("{}", begin) : fmt::format("{}-{}", begin, end - 1);
    const char* const intro = begin == 0 ? "local rank " : "";
    parts.push_back((all ? "" : intro + range + ": ") +
                    describe_alike({host.ranks.begin() + static_cast<ptrdiff_t>(begin),
                                    host.ranks.begin() + static_cast<ptrdiff_t>(end)}));
    bound = bound || host.ranks[begin].place->bound;
  }
  return fmt::format("{}{}", fmt::join(parts, "; "), bound ? "; bound by Weft" : "");
}

// Hosts where ranks got the same are one part of the line.
std::string describe_hosts(const std::vector<PlacedHost>& hosts) {
  constexpr size_t kMostParts = 4;
  std::map<std::string, std::vector<const PlacedHost*>> alike;
  for (const PlacedHost& host : hosts)
    alike[fmt::format("{}: {}", counted(host.ranks.size(), "rank"), describe_ranks_of(host))].push_back(&host);
  std::vector<std::pair<std::string, std::vector<const PlacedHost*>>> parts(alike.begin(), alike.end());
  std::ranges::stable_sort(parts, [](const auto& a, const auto& b) { return a.second.size() > b.second.size(); });
  std::vector<std::string> texts;
  for (const auto& [what, where] : parts) {
    if (texts.size() == kMostParts) break;
    const std::string name = parts.size() > 1 && where.size() == 1 ? " (" + where.front()->name + ")" : "";
    texts.push_back(fmt::format("{}{} x {}", counted(where.size(), "host"), name, what));
  }
  if (parts.size() > kMostParts) {
    size_t rest = 0;
    for (size_t i = kMostParts; i < parts.size(); ++i) rest += parts[i].second.size();
    texts.push_back(counted(rest, "other host"));
  }
  return fmt::format("{}", fmt::join(texts, ", "));
}

// ---- what is bad

// Warnings of hosts: the first, and how many hosts have it.
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
    return fmt::format("the container may use {:.3g} cores for {}", first.quota, counted(ranks, "rank"));
  if (cores < ranks) return fmt::format("{} may run on {} only", counted(ranks, "rank"), counted(cores, "core"));
  const int threads = std::accumulate(host.ranks.begin(), host.ranks.end(), 0,
                                      [](int sum, const PlacedRank& r) { return sum + r.place->threads; });
  if (static_cast<size_t>(threads) > cores)
    return fmt::format("the ranks have {} threads on {}: lower OMP_NUM_THREADS", threads, counted(cores, "core"));
  return "";
}

// Equal masks are shared evenly. Of others that overlap, one rank has its cores to itself and another has not.
std::string overlapping(const PlacedHost& host) {
  std::map<int, const PlacedRank*> owner;
  for (const PlacedRank& r : host.ranks) {
    for (const int core : r.place->cores) {
      const PlacedRank& other = *owner.try_emplace(core, &r).first->second;
      if (other.place->cores != r.place->cores)
        return fmt::format("ranks {} and {} share core {}, but not all cores: bind them to equal or separate ones",
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
    return fmt::format("the GPU of rank {} is at NUMA node {}, its cores ({}) at node {}", r.rank, p.gpu_node,
                       text_of(p.cores), text_of(p.nodes));
  }
  return "";
}

std::string on_all_nodes(const PlacedHost& host) {
  const RankPlace& first = *host.ranks.front().place;
  const size_t ranks = host.ranks.size(), nodes = static_cast<size_t>(first.nodes_of_host);
  if (ranks < 2 || first.gpu >= 0 || first.bound || first.stays || nodes < 2 || first.nodes.size() < nodes) return "";
  return fmt::format("{} cannot be divided evenly among {} NUMA nodes: each uses memory of all", counted(ranks, "rank"),
                     nodes);
}

void warn_of_differences(const std::vector<RankPlace>& ranks, const std::vector<PlacedHost>& hosts,
                         std::vector<std::string>& warnings) {
  if (ranks.front().gpu >= 0) return;  // GPUs do the work, and NCCL exchanges it
  const auto [least, most] = std::ranges::minmax_element(ranks, {}, [](const RankPlace& p) { return p.threads; });
  if (least->threads != most->threads)
    warnings.push_back(fmt::format(
        "rank {} on {} has {} and rank {} on {} has {}: all wait for the slowest", least - ranks.begin(), least->host,
        counted(static_cast<size_t>(least->threads), "thread"), most - ranks.begin(), most->host, most->threads));
  const auto [fewest, largest] =
      std::ranges::minmax_element(hosts, {}, [](const PlacedHost& h) { return h.ranks.size(); });
  if (fewest->ranks.size() != largest->ranks.size())
    warnings.push_back(
        fmt::format("{} has {} and {} has {}: sums cross the network once for each rank, not once for each host",
                    fewest->name, counted(fewest->ranks.size(), "rank"), largest->name, largest->ranks.size()));
}

}  // namespace

PlacementReport describe_placement(const std::vector<RankPlace>& ranks, const NetworkChoice& choice) {
  const std::vector<PlacedHost> hosts = hosts_of(ranks);
  const RankPlace& first = ranks.front();
  const bool gpus = first.gpu >= 0;
  PlacementReport report;
  if (ranks.size() > 1 || gpus || first.bound) report.placement = describe_hosts(hosts);
  for (const auto& finding : {too_few_cores, overlapping, far_gpu, on_all_nodes})
    warn_of_hosts(hosts, report.warnings, finding);
  warn_of_differences(ranks, hosts, report.warnings);
  if (hosts.size() == 1) return report;
  report.network = describe_networks(first.networks, choice, gpus);
  if (gpus)
    warn_of_hosts(hosts, report.warnings,
                  [&](const PlacedHost& h) { return network_warning(h.ranks.front().place->networks, choice); });
  return report;
}

}  // namespace weft
