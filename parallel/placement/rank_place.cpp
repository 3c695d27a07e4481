// parallel/placement/rank_place.cpp: converts a rank's place to text, and groups ranks by host.
#include "parallel/placement/rank_place.h"

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>
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

std::vector<PlacedHost> hosts_of(const std::vector<RankPlace>& ranks) {
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

}  // namespace weft
