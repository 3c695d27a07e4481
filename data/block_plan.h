// data/block_plan.h: a stream of the order of one corpus's sentences, cut into blocks: a pure function of (seed, epoch,
// cursor), not of the grid.
//
// It is a mix of one corpus (data/mix_plan.h): each block starts with the oldest pending pair, so none waits for more
// than look_ahead + 1 blocks.
//
// Without shuffle the pairs come once, in corpus order. Nothing is chosen: a block ends at the first pair
// that does not fit. After the last pair the cursor is at epoch 1 and next() returns empty blocks.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "data/batch.h"
#include "data/corpus.h"
#include "data/pair_order.h"
#include "tensor/on_resume.h"

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
    v("rows", rows, "target rows of a block: the unit of work, fixed for the run", OnResume::order);
    v("source_rows", source_rows, "source rows of a block; 0 = rows times the corpus's own ratio", OnResume::order);
    v("blocks", blocks, "blocks per optimizer step, divided among the dp ranks", OnResume::retrains);
    v("tokens", tokens,
      "target tokens per optimizer step: sets blocks to what holds about so many; 0 = blocks as given");
    v("look_ahead", look_ahead, "pairs to choose from when filling a block", OnResume::order);
    v("page", page, "consecutive pairs that are shuffled as one page", OnResume::order);
    v("window", window, "pages whose sentences are shuffled together, over all blocks of a step", OnResume::order);
  }
};

struct Cursor {  // the place in the order of a corpus where the next block starts
  int64_t epoch = 0;
  int64_t position = 0;               // next pair of the epoch's order that has not been considered
  std::vector<int64_t> pending = {};  // pairs considered and not yet used, oldest first
  std::vector<int64_t> visits = {};   // the epoch of each of these; empty if it is `epoch` for all
  bool operator==(const Cursor&) const = default;
};

struct PlannedBlock {
  std::vector<PairVisit> pairs;                  // in the order of the block
  int64_t source_tokens = 0, target_tokens = 0;  // real rows, eos included
  std::vector<int64_t> passed;                   // of each corpus: pairs taken, or left out while it was filled
};

inline constexpr const char* kNoPairs = "the corpus holds no pairs; pack one that does with `weft pack`";

class MixPlan;

class BlockPlan {
 public:
  // `config.source_rows` is resolved (not 0). Pairs longer than a block are skipped and counted.
  // Of a corpus: its first variant.
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
  std::unique_ptr<MixPlan> plan_;
};

}  // namespace weft
