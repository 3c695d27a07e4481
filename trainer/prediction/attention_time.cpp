// trainer/prediction/attention_time.cpp: counts the work of each tile, and schedules blocks of tiles.
#include "trainer/prediction/attention_time.h"

#include <algorithm>
#include <functional>
#include <queue>

namespace weft {
namespace {

double chunks_of(const AttentionCost& cost, const AttentionShape& s, size_t i, int64_t first, int64_t last) {
  const int64_t others = s.other.end[i] - s.other.begin[i], own = s.own.begin[i];
  int64_t begin = 0, end = others;
  if (s.causal && cost.owns_keys) begin = (std::max<int64_t>(own, first) - own) / cost.chunk_rows * cost.chunk_rows;
  if (s.causal && !cost.owns_keys) end = std::min(std::min<int64_t>(s.own.end[i], last) - own, others);
  const int64_t chunks = (std::max<int64_t>(end - begin, 0) + cost.chunk_rows - 1) / cost.chunk_rows;
  return static_cast<double>(chunks * s.group);
}

// The chunks that each tile visits. Sentences are in the order of their rows.
std::vector<double> chunks_of_tiles(const AttentionCost& cost, const AttentionShape& s) {
  std::vector<double> tiles;
  size_t sentence = 0;
  for (int64_t first = 0; first < s.rows; first += cost.tile_rows) {
    const int64_t last = std::min(first + cost.tile_rows, s.rows);
    while (sentence < s.own.begin.size() && s.own.end[sentence] <= first) ++sentence;
    double chunks = 0;
    for (size_t i = sentence; i < s.own.begin.size() && s.own.begin[i] < last; ++i)
      if (s.own.end[i] > s.own.begin[i]) chunks += chunks_of(cost, s, i, first, last);
    tiles.push_back(chunks);
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
std::vector<double> by_block(const std::vector<double>& tiles, int64_t tiles_of_block, const F& cycles) {
  const auto each = static_cast<size_t>(tiles_of_block);
  std::vector<double> blocks((tiles.size() + each - 1) / each);
  for (size_t i = 0; i < tiles.size(); ++i) blocks[i / each] = std::max(blocks[i / each], cycles(tiles[i]));
  return blocks;
}

}  // namespace

double attention_seconds(const GpuModel& gpu, const AttentionCost& cost, const AttentionShape& s, bool graph) {
  const double width = static_cast<double>(s.head_size) / 64;  // the costs are those of heads of 64 columns
  const std::vector<double> tiles = chunks_of_tiles(cost, s);
  double instructions = 0;
  for (const double chunks : tiles) instructions += width * (chunks * cost.chunk_instructions + cost.tile_instructions);
  const auto cycles = [&](double chunks) {
    const double loads = cost.tile_loads + chunks * cost.chunk_loads;
    const double others = width * (cost.tile_instructions + chunks * cost.chunk_instructions);
    return loads * kLoadCycles + others * kInstructionCycles;
  };
  const int64_t places = int64_t{gpu.sms} * cost.blocks_per_sm;
  const double latency = makespan(by_block(tiles, cost.tiles_of_block, cycles), s.heads, places);
  const double issue = instructions * static_cast<double>(s.heads) / (gpu.sms * kIpc);
  const double both = kIssueShare * issue + (1 - kIssueShare) * latency;
  return gpu.gap(graph) + kKernelRamp + std::max(both / gpu.clock, s.bytes / gpu.bandwidth);
}

}  // namespace weft
