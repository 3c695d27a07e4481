// trainer/bench/attention_time.cpp: counts the work of each tile, and schedules blocks of tiles.
#include "trainer/bench/attention_time.h"

#include <algorithm>
#include <functional>
#include <queue>

namespace weft {
namespace {

constexpr int64_t kSentencesOfSearch = 32;  // one for each thread of a warp

struct AttentionTile {
  double chunks = 0;
  double searches = 0;       // until its last sentence
  double vain_searches = 0;  // through all others, because a row is unused
};

double chunks_of(const AttentionCost& cost, const AttentionShape& s, size_t i, int64_t first, int64_t last) {
  const int64_t others = s.other.end[i] - s.other.begin[i], own = s.own.begin[i];
  int64_t begin = 0, end = others;
  if (s.causal && cost.owns_keys) begin = (std::max<int64_t>(own, first) - own) / cost.chunk_rows * cost.chunk_rows;
  if (s.causal && !cost.owns_keys) end = std::min(std::min<int64_t>(s.own.end[i], last) - own, others);
  const int64_t chunks = (std::max<int64_t>(end - begin, 0) + cost.chunk_rows - 1) / cost.chunk_rows;
  return static_cast<double>(chunks * s.group);
}

// Sentences are in the order of their rows.
std::vector<AttentionTile> tiles_of(const AttentionCost& cost, const AttentionShape& s) {
  std::vector<AttentionTile> tiles;
  const size_t count = s.own.begin.size();
  size_t sentence = 0;
  for (int64_t first = 0; first < s.rows; first += cost.tile_rows) {
    const int64_t last = std::min(first + cost.tile_rows, s.rows);
    while (sentence < count && s.own.end[sentence] <= first) ++sentence;
    AttentionTile tile;
    int64_t covered = 0;
    size_t seen = 0;  // sentences up to the tile's last one
    for (size_t i = sentence; i < count && s.own.begin[i] < last; ++i) {
      if (s.own.end[i] == s.own.begin[i]) continue;
      seen = i + 1;
      covered += std::max<int64_t>(std::min<int64_t>(s.own.end[i], last) - std::max<int64_t>(s.own.begin[i], first), 0);
      tile.chunks += chunks_of(cost, s, i, first, last);
    }
    const auto searches = [](size_t sentences) {
      const size_t groups = (sentences + kSentencesOfSearch - 1) / kSentencesOfSearch;
      return static_cast<double>(groups);
    };
    tile.searches = searches(seen);
    tile.vain_searches = covered == last - first ? 0 : searches(count) - tile.searches;
    tiles.push_back(tile);
  }
  return tiles;
}

// When the last block ends, if each takes the first free place.
double makespan(const std::vector<double>& blocks, int64_t heads, int64_t places) {
  std::priority_queue<double, std::vector<double>, std::greater<>> free;
  double end = 0;
  for (int64_t head = 0; head < heads; ++head)
    for (const double cycles : blocks) {
      double begin = 0;
      if (static_cast<int64_t>(free.size()) == places) {
        begin = free.top();
        free.pop();
      }
      free.push(begin + cycles);
      end = std::max(end, begin + cycles);
    }
  return end;
}

// Of each block of tiles, that of the slowest one.
template <typename F>
std::vector<double> by_block(const std::vector<AttentionTile>& tiles, int64_t tiles_of_block, const F& cycles) {
  const auto each = static_cast<size_t>(tiles_of_block);
  std::vector<double> blocks((tiles.size() + each - 1) / each);
  for (size_t i = 0; i < tiles.size(); ++i) blocks[i / each] = std::max(blocks[i / each], cycles(tiles[i]));
  return blocks;
}

}  // namespace

double attention_seconds(const GpuModel& gpu, const AttentionCost& cost, const AttentionShape& s, bool graph) {
  const double width = static_cast<double>(s.head_size) / 64;  // the costs are those of heads of 64 columns
  const double each_load = cost.load_instructions / std::max(cost.chunk_loads, 1.0);
  const std::vector<AttentionTile> tiles = tiles_of(cost, s);
  double instructions = 0;
  for (const AttentionTile& t : tiles)
    instructions += width * (t.chunks * cost.chunk_instructions + cost.tile_loads * each_load);
  const auto cycles = [&](const AttentionTile& t) {
    const double loads = width * (cost.tile_loads + t.chunks * cost.chunk_loads);
    const double others = width * t.chunks * (cost.chunk_instructions - cost.load_instructions);
    return t.searches * cost.search_cycles + loads * kLoadCycles + others * kInstructionCycles;
  };
  const int64_t places = int64_t{gpu.sms} * cost.blocks_per_sm;
  const double latency = makespan(by_block(tiles, cost.tiles_of_block, cycles), s.heads, places);
  const double issue = instructions * static_cast<double>(s.heads) / (gpu.sms * kIpc);
  const double both = kIssueShare * issue + (1 - kIssueShare) * latency;
  const double with_vain_searches = makespan(
      by_block(
          tiles, cost.tiles_of_block,
          [&](const AttentionTile& t) { return cycles(t) * both / latency + t.vain_searches * cost.search_cycles; }),
      s.heads, places);
  return gpu.gap(graph) + kKernelRamp + std::max(with_vain_searches / gpu.clock, s.bytes / gpu.bandwidth);
}

}  // namespace weft
