// trainer/cluster/collective_time.cpp: models rings and trees over links within and between nodes.
#include "trainer/cluster/collective_time.h"

#include <algorithm>
#include <cmath>

namespace weft {
namespace {

double log2_up(int64_t n) { return n > 1 ? std::ceil(std::log2(static_cast<double>(n))) : 0; }

// Returns the seconds per byte that a rank sends along the ring.
double seconds_a_byte(const Machine& m, const Group& g) {
  const double within = g.of_node > 1 ? 1 / m.node.bandwidth : 0;
  const double between = g.nodes() > 1 ? 1 / (static_cast<double>(g.of_node) * m.network.bandwidth) : 0;
  return std::max(within, between);
}

// Returns the latency of `rounds` rounds of the ring: 1 for a reduce-scatter or an all-gather, 2 for an all-reduce.
double ring_latency(const Machine& m, const Group& g, double rounds) {
  const auto between = static_cast<double>(g.nodes() > 1 ? g.nodes() : 0);
  const double within = std::max(0.0, static_cast<double>(g.ranks - 1) - between);
  return m.node.latency + rounds * (within * m.node.hop + between * m.network.hop);
}

double tree_latency(const Machine& m, const Group& g) {
  return m.node.latency + 2 * (static_cast<double>(g.of_node - 1) * m.node.hop + log2_up(g.nodes()) * m.network.hop);
}

double share(const Group& g) { return static_cast<double>(g.ranks - 1) / static_cast<double>(g.ranks); }

double one_round_seconds(const Machine& m, const Group& g, double bytes) {
  if (g.ranks == 1) return 0;
  return ring_latency(m, g, 1) + share(g) * bytes * seconds_a_byte(m, g);
}

// Each rank sends bytes / N to every other rank.
double all_to_all_seconds(const Machine& m, const Group& g, double bytes) {
  const double part = bytes / static_cast<double>(g.ranks);
  const double within = part * static_cast<double>(g.of_node - 1) / m.node.bandwidth;
  const double between = g.nodes() > 1 ? part * static_cast<double>(g.ranks - g.of_node) / m.network.bandwidth : 0;
  return ring_latency(m, g, 1) + std::max(within, between);
}

Group within_node(const Group& g) { return {.ranks = g.of_node, .of_node = g.of_node}; }
Group across_nodes(const Group& g) { return {.ranks = g.nodes(), .of_node = 1}; }

}  // namespace

Group tp_group(const Machine& m, int64_t tp) { return {.ranks = tp, .of_node = std::min(tp, m.node.ranks)}; }

Group dp_group(const Machine& m, int64_t dp, int64_t tp) {
  return {.ranks = dp, .of_node = std::clamp<int64_t>(m.node.ranks / tp, 1, dp)};
}

double all_reduce_seconds(const Machine& m, const Group& g, double bytes) {
  if (g.ranks == 1) return 0;
  return std::min(ring_latency(m, g, 2), tree_latency(m, g)) + sent_bytes(g, bytes) * seconds_a_byte(m, g);
}

double reduce_scatter_seconds(const Machine& m, const Group& g, double bytes) { return one_round_seconds(m, g, bytes); }
double all_gather_seconds(const Machine& m, const Group& g, double bytes) { return one_round_seconds(m, g, bytes); }

double broadcast_seconds(const Machine& m, const Group& g, double bytes) {
  if (g.ranks == 1 || bytes == 0) return 0;
  return ring_latency(m, g, 1) + bytes * seconds_a_byte(m, g);
}

double sent_bytes(const Group& g, double bytes) { return 2 * share(g) * bytes; }

bool has_levels(const Group& g) { return g.nodes() > 1 && g.of_node > 1 && g.ranks % g.of_node == 0; }

double rounded_scatter_seconds(const Machine& m, const Group& g, double bytes, double rounded) {
  if (g.ranks == 1) return 0;
  if (!has_levels(g)) return all_to_all_seconds(m, g, rounded);
  return one_round_seconds(m, within_node(g), bytes) +
         all_to_all_seconds(m, across_nodes(g), rounded / static_cast<double>(g.of_node));
}

double rounded_sent_bytes(const Group& g, double bytes, double rounded) {
  if (!has_levels(g)) return share(g) * rounded;
  return share(within_node(g)) * bytes + share(across_nodes(g)) * rounded / static_cast<double>(g.of_node);
}

double host_exchange_seconds(const Machine& m, int64_t ranks, double bytes_of_a_rank) {
  if (ranks == 1) return 0;
  const double bytes = static_cast<double>(ranks) * bytes_of_a_rank;
  const double link = ranks > m.node.ranks ? m.network.bandwidth : m.node.bandwidth;
  return log2_up(ranks) * m.network.host_latency + bytes / link;
}

}  // namespace weft
