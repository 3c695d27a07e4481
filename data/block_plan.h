// data/block_plan.h: a stream of the order of sentences, cut into blocks: a pure function of (seed, epoch, cursor),
// not of the grid.
//
// The order is the two-level shuffle of data/pair_order.h; one window of lengths is held in memory. From the
// next `look_ahead` pairs, a block takes those that keep both sides in balance. At its end it exchanges one
// of them for a candidate that fills it better. Pairs that were considered but not taken stay pending, in the
// cursor. Each block starts with the oldest pending pair, so none waits for more than look_ahead + 1 blocks.
// The stream continues past the end of an epoch: no step is ever partial.
//
// Without shuffle the pairs come once, in corpus order. Nothing is chosen: a block ends at the first pair
// that does not fit. After the last pair the cursor is at epoch 1 and next() returns empty blocks.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "data/corpus.h"
#include "data/pair_order.h"

namespace weft {

struct BatchConfig {
  int64_t rows = 2048;
  int64_t source_rows = 0;
  int64_t blocks = 2;
  int64_t tokens = 0;
  int64_t look_ahead = 64;
  int64_t page = 256;
  int64_t window = 64;

  int64_t blocks_of_step() const { return tokens > 0 ? std::max<int64_t>(1, (tokens + rows / 2) / rows) : blocks; }

  template <typename V>
  void fields(V& v) {
    v("rows", rows, "target rows of a block: the unit of work, fixed for the run");
    v("source_rows", source_rows, "source rows of a block; 0 = rows times the corpus's own ratio");
    v("blocks", blocks, "blocks per optimizer step, divided among the dp ranks");
    v("tokens", tokens,
      "target tokens per optimizer step: sets blocks to what holds about so many; 0 = blocks as given");
    v("look_ahead", look_ahead, "pairs to choose from when filling a block");
    v("page", page, "consecutive pairs that are shuffled as one page");
    v("window", window, "pages whose sentences are shuffled together, over all blocks of a step");
  }
};

struct Cursor {  // the place in the order where the next block starts
  int64_t epoch = 0;
  int64_t position = 0;          // next pair of the epoch's order that has not been considered
  std::vector<int64_t> pending;  // pairs considered and not yet used, oldest first
  bool operator==(const Cursor&) const = default;
};

struct PlannedBlock {
  std::vector<int64_t> pairs;                    // pair numbers, in the order of the block
  int64_t source_tokens = 0, target_tokens = 0;  // real rows, eos included
};

class BlockPlan {
 public:
  // `config.source_rows` is resolved (not 0). Pairs longer than a block are skipped and counted.
  BlockPlan(Corpus& corpus, const BatchConfig& config, uint64_t seed, bool shuffle = true);
  BlockPlan(int64_t num_pairs, LengthSource lengths, const BatchConfig& config, uint64_t seed, bool shuffle = true,
            Stream stream = {});
  BlockPlan(BlockPlan&&) noexcept;
  ~BlockPlan();

  PlannedBlock next();
  Cursor cursor() const;
  int64_t epoch() const;  // of the cursor
  void seek(const Cursor& cursor);
  int64_t dropped() const;  // pairs skipped since construction because they do not fit a block

  // Source rows that fill up together with `target_rows`, from the corpus's totals; a multiple of 16.
  static int64_t source_rows_for(const Corpus& corpus, int64_t target_rows);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace weft
