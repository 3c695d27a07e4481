// parallel/placement/report.cpp: groups ranks and hosts with the same placement.
#include "parallel/placement/report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "parallel/placement/warnings.h"

namespace weft {
namespace {

bool look_alike(const RankPlace& a, const RankPlace& b) {
  return a.nodes == b.nodes && a.threads == b.threads && a.cores.size() == b.cores.size() && a.bound == b.bound &&
         (a.gpu < 0) == (b.gpu < 0);
}

std::string describe_gpus_of(const std::vector<PlacedRank>& ranks) {  // a rank may see only its own GPU
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

// Hosts with the same placement of ranks share one part of the line.
std::string describe_hosts(const std::vector<PlacedHost>& hosts) {
  constexpr size_t kMaxParts = 4;
  std::map<std::string, std::vector<const PlacedHost*>> alike;
  for (const PlacedHost& host : hosts)
    alike[fmt::format("{}: {}", counted(host.ranks.size(), "rank"), describe_ranks_of(host))].push_back(&host);
  std::vector<std::pair<std::string, std::vector<const PlacedHost*>>> parts(alike.begin(), alike.end());
  std::ranges::stable_sort(parts, [](const auto& a, const auto& b) { return a.second.size() > b.second.size(); });
  std::vector<std::string> texts;
  for (const auto& [what, where] : parts) {
    if (texts.size() == kMaxParts) break;
    const std::string name = parts.size() > 1 && where.size() == 1 ? " (" + where.front()->name + ")" : "";
    texts.push_back(fmt::format("{}{} x {}", counted(where.size(), "host"), name, what));
  }
  if (parts.size() > kMaxParts) {
    size_t rest = 0;
    for (size_t i = kMaxParts; i < parts.size(); ++i) rest += parts[i].second.size();
    texts.push_back(counted(rest, "other host"));
  }
  return fmt::format("{}", fmt::join(texts, " | "));
}

}  // namespace

PlacementReport describe_placement(const std::vector<RankPlace>& ranks, const NetworkChoice& choice) {
  const std::vector<PlacedHost> hosts = hosts_of(ranks);
  const RankPlace& first = ranks.front();
  const bool gpus = first.gpu >= 0;
  PlacementReport report;
  if (ranks.size() > 1 || gpus || first.bound) report.placement = describe_hosts(hosts);
  if (hosts.size() > 1) report.network = describe_networks(first.networks, choice, gpus);
  report.warnings = placement_warnings(ranks, hosts, choice);
  return report;
}

}  // namespace weft
