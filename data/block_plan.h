// data/block_plan.h: the global order of sentences, cut into blocks: a pure function of (seed, epoch, cursor), never of
// the grid.
//
// The order is the two-level shuffle of data/pair_order.h; what is held in memory is one window of lengths. A block
// takes, of the next `look_ahead` pairs, those that keep both sides in balance, and at its end exchanges one of them
// for a candidate that fills it better. What was looked at and not taken stays pending, in the cursor. Each block
// begins with the oldest pending pair, so none waits for more than look_ahead + 1 blocks. The stream runs on over the
// end of an epoch: no step is ever partial.
//
// Without shuffle the pairs come in the corpus' order, once: nothing is chosen, a block ends at the first pair that
// does not fit, and after the last pair the cursor stands at epoch 1 and next() returns blocks without pairs.
#pragma once

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
  int64_t look_ahead = 64;
  int64_t page = 256;
  int64_t window = 64;

  template <typename V>
  void fields(V& v) {
    v("rows", rows, "target rows of a block: the unit of work, fixed for the run");
    v("source_rows", source_rows, "source rows of a block; 0 = rows times the corpus' own ratio");
    v("blocks", blocks, "blocks an optimizer step, divided among the dp ranks");
    v("look_ahead", look_ahead, "pairs to choose from when filling a block");
    v("page", page, "consecutive pairs that are shuffled as one page");
    v("window", window, "pages whose sentences are shuffled together");
  }
};

struct Cursor {  // where in the order the next block begins
  int64_t epoch = 0;
  int64_t position = 0;          // next pair of the epoch's order not yet looked at
  std::vector<int64_t> pending;  // pair numbers looked at and not yet used, oldest first
  bool operator==(const Cursor&) const = default;
};

struct PlannedBlock {
  std::vector<int64_t> pairs;                    // pair numbers, in the order they lie in the block
  int64_t source_tokens = 0, target_tokens = 0;  // real rows, eos included
};

class BlockPlan {
 public:
  // `config.source_rows` resolved (not 0). Pairs longer than a block are passed over, and counted.
  BlockPlan(Corpus& corpus, const BatchConfig& config, uint64_t seed, bool shuffle = true);
  BlockPlan(int64_t num_pairs, LengthSource lengths, const BatchConfig& config, uint64_t seed, bool shuffle = true);
  ~BlockPlan();

  PlannedBlock next();
  Cursor cursor() const;
  void seek(const Cursor& cursor);
  int64_t dropped() const;  // pairs passed over since construction because they do not fit a block

  // Source rows that fill up together with `target_rows`, from the corpus' totals; a multiple of 16.
  static int64_t source_rows_for(const Corpus& corpus, int64_t target_rows);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace weft
