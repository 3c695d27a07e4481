// tests/prediction/attention_time.cpp: counts the work of each thread block, and schedules the blocks.
#include "tests/prediction/attention_time.h"

#include <algorithm>
#include <functional>
#include <queue>

#include "tensor/op/attention_pieces.h"

namespace weft {
namespace {

struct BlockWork {
  double instructions = 0;  // of all its warps
  double cycles = 0;        // until it ends, if it shares its SM with as many others as fit
};

double cycles_of(double loads, double instructions) { return loads * kLoadCycles + instructions * kInstructionCycles; }

// When the last block ends, if each takes the first free place. `heads_first`: all heads of a block begin before the
// next.
double makespan(const std::vector<BlockWork>& blocks, int64_t heads, bool heads_first, int64_t places) {
  std::priority_queue<double, std::vector<double>, std::greater<>> free;
  double end = 0;
  const auto count = static_cast<int64_t>(blocks.size());
  for (int64_t i = 0; i < count * heads; ++i) {
    const BlockWork& block = blocks[static_cast<size_t>(heads_first ? i / heads : i % count)];
    double begin = 0;
    if (static_cast<int64_t>(free.size()) == places) {
      begin = free.top();
      free.pop();
    }
    free.push(begin + block.cycles);
    end = std::max(end, begin + block.cycles);
  }
  return end;
}

// `blocks` are those of one of `heads` heads.
double seconds_of(const GpuModel& gpu, const std::vector<BlockWork>& blocks, int64_t heads, bool heads_first,
                  int blocks_per_sm, double bytes, bool graph) {
  double instructions = 0;
  for (const BlockWork& block : blocks) instructions += block.instructions;
  const double latency = makespan(blocks, heads, heads_first, int64_t{gpu.sms} * blocks_per_sm);
  const double issue = instructions * static_cast<double>(heads) / (gpu.sms * kIpc);
  const double both = kIssueShare * issue + (1 - kIssueShare) * latency;
  return gpu.gap(graph) + kKernelRamp + std::max(both / gpu.clock, bytes / gpu.bandwidth);
}

double width_of(const AttentionShape& s) {  // the costs are those of heads of 64 columns
  return static_cast<double>(s.head_size) / 64;
}

int64_t divided_up(int64_t n, int64_t by) { return (n + by - 1) / by; }

// The chunks that each tile visits. Sentences are in the order of their rows.
std::vector<int64_t> chunks_of_tiles(const AttentionForwardCost& cost, const AttentionShape& s) {
  std::vector<int64_t> tiles;
  const SentenceSpans &q = s.queries, &k = s.keys;
  size_t sentence = 0;
  for (int64_t first = 0; first < s.rows; first += cost.tile_rows) {
    const int64_t last = std::min(first + cost.tile_rows, s.rows);
    while (sentence < q.begin.size() && q.end[sentence] <= first) ++sentence;
    int64_t chunks = 0;
    for (size_t i = sentence; i < q.begin.size() && q.begin[i] < last; ++i) {
      if (q.end[i] == q.begin[i]) continue;
      const int64_t keys = k.end[i] - k.begin[i], seen = std::min<int64_t>(q.end[i], last) - q.begin[i];
      chunks += divided_up(s.causal ? std::min(keys, seen) : keys, cost.chunk_rows);
    }
    tiles.push_back(chunks);
  }
  return tiles;
}

using Pieces = ops::AttentionPieces;

// Pairs of a tile of queries and a tile of keys that it sees, of each warp.
struct Pairs {
  int64_t of_queries[Pieces::kTiles] = {}, of_keys[Pieces::kTiles] = {};
};

BlockWork work_of(const AttentionBackwardCost& cost, double width, int64_t steps, const Pairs& pairs) {
  const auto scores = [&](int64_t n) { return width * static_cast<double>(n) * cost.score_instructions; };
  const auto gradients = [&](int64_t n) { return width * static_cast<double>(n) * cost.gradient_instructions; };
  const double fixed = width * static_cast<double>(steps) * cost.step_instructions;
  BlockWork work{.instructions = Pieces::kTiles * fixed};
  for (int i = 0; i < Pieces::kTiles; ++i)
    work.instructions += scores(pairs.of_queries[i]) + gradients(pairs.of_keys[i]);
  const double slowest = scores(*std::max_element(pairs.of_queries, pairs.of_queries + Pieces::kTiles)) +
                         gradients(*std::max_element(pairs.of_keys, pairs.of_keys + Pieces::kTiles));
  work.cycles = cycles_of(static_cast<double>(steps) * cost.step_loads, fixed + slowest);
  return work;
}

// A piece of sentences that share it.
Pairs shared_pairs(const std::vector<int32_t>& q, const std::vector<int32_t>& k, const int32_t* sentences,
                   bool causal) {
  Pairs pairs;
  int64_t first_q = 0, first_k = 0;
  for (int s = 0; s < Pieces::kTiles && sentences[s] >= 0; ++s) {
    const auto i = static_cast<size_t>(sentences[s]);
    const int64_t queries = divided_up(q[i], Pieces::kTileRows), keys = divided_up(k[i], Pieces::kTileRows);
    for (int64_t a = 0; a < queries; ++a)
      for (int64_t b = 0; b < (causal ? std::min(keys, a + 1) : keys); ++b)
        ++pairs.of_queries[first_q + a], ++pairs.of_keys[first_k + b];
    first_q += queries, first_k += keys;
  }
  return pairs;
}

// One that owns 64 queries or 64 keys of a sentence, from `first` on, and takes a step for every 64 of the others.
BlockWork owner_work(const AttentionBackwardCost& cost, double width, int64_t q, int64_t k, int64_t first, bool keys,
                     bool causal, int64_t group) {
  const int64_t own_tiles = std::min<int64_t>(divided_up((keys ? k : q) - first, Pieces::kTileRows), Pieces::kTiles);
  if (own_tiles <= 0) return work_of(cost, width, 1, {});
  const int64_t begin = causal && keys ? std::min(first, q) : 0;
  const int64_t end = keys ? q : causal ? std::min(k, first + Pieces::kRows) : k;
  const int64_t others = group * divided_up(end - begin, Pieces::kTileRows);
  Pairs pairs;
  if (keys) {
    for (int64_t i = 0; i < Pieces::kTiles; ++i) pairs.of_queries[i] = own_tiles * others / Pieces::kTiles;
    for (int64_t i = 0; i < own_tiles; ++i) pairs.of_keys[i] = others;
  } else {
    for (int64_t i = 0; i < own_tiles; ++i) pairs.of_queries[i] = others;
  }
  return work_of(cost, width, group * std::max<int64_t>(divided_up(end - begin, Pieces::kRows), 1), pairs);
}

std::vector<int32_t> lengths_of(const SentenceSpans& s) {
  std::vector<int32_t> lengths(s.begin.size());
  for (size_t i = 0; i < lengths.size(); ++i) lengths[i] = s.end[i] - s.begin[i];
  return lengths;
}

}  // namespace

double attention_forward_seconds(const GpuModel& gpu, const AttentionShape& s, bool graph) {
  const AttentionForwardCost& cost = attention_forward_cost();
  const std::vector<int64_t> tiles = chunks_of_tiles(cost, s);
  std::vector<BlockWork> blocks(
      static_cast<size_t>(divided_up(static_cast<int64_t>(tiles.size()), cost.tiles_of_block)));
  for (size_t i = 0; i < tiles.size(); ++i) {
    const auto chunks = static_cast<double>(tiles[i]);
    const double instructions = width_of(s) * (cost.tile_instructions + chunks * cost.chunk_instructions);
    BlockWork& block = blocks[i / static_cast<size_t>(cost.tiles_of_block)];
    block.instructions += instructions;
    block.cycles = std::max(block.cycles, cycles_of(cost.tile_loads + chunks * cost.chunk_loads, instructions));
  }
  return seconds_of(gpu, blocks, s.heads, /*heads_first=*/false, gpu.blocks_per_sm(cost.shared_bytes, cost.max_blocks),
                    s.bytes, graph);
}

double attention_backward_seconds(const GpuModel& gpu, const AttentionShape& s, bool graph) {
  const AttentionBackwardCost& cost = attention_backward_cost();
  const std::vector<int32_t> q = lengths_of(s.queries), k = lengths_of(s.keys);
  const std::vector<int32_t> pieces = ops::attention_pieces(q, k);
  const int64_t group = s.heads / s.kv_heads, of_long = pieces[0], shared = pieces[1];
  std::vector<BlockWork> blocks;
  for (int64_t i = 0; i < of_long + shared; ++i) {
    const int32_t* const piece = pieces.data() + (1 + i) * Pieces::kValues;
    if (i >= of_long) {
      // With several query heads a head of keys, dQ is computed apart from dK and dV.
      const BlockWork once = work_of(cost, width_of(s), 1, shared_pairs(q, k, piece, s.causal));
      const auto times = static_cast<double>(group > 1 ? 2 * group : 1);
      blocks.push_back({times * once.instructions, times * once.cycles});
    } else {
      const auto sentence = static_cast<size_t>(piece[0]);
      blocks.push_back(
          owner_work(cost, width_of(s), q[sentence], k[sentence], piece[1], piece[2] == 1, s.causal, group));
    }
  }
  return seconds_of(gpu, blocks, s.kv_heads, /*heads_first=*/true,
                    gpu.blocks_per_sm(cost.shared_bytes, cost.max_blocks), s.bytes, graph);
}

}  // namespace weft
