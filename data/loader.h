// data/loader.h: the stream of steps of one data-parallel rank, read ahead on a thread.
//
// A rank plans and reads only its own blocks of each step (data/order/step_plan.h). The thread plans about a window of
// pairs at a time and reads them in each corpus's order, page by page. It holds their ids and a few finished steps.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "data/batch.h"
#include "data/corpus.h"
#include "data/order/mix.h"
#include "data/order/step_plan.h"

namespace weft {

class Loader {
 public:
  // REQUIRES: nothing else uses the corpora of `mix` while this lives; `config` is resolved (data/batch_config.h).
  Loader(Mix mix, const BatchConfig& config, uint64_t seed, int dp_rank, int dp_size, const StepCursor& start = {});
  ~Loader();

  Step next();                // waits for the thread; throws its Error after all earlier steps
  StepCursor cursor() const;  // after the last step that next() returned, for the streams that this rank plans

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Returns the approximate max memory of a Loader.
size_t read_ahead_bytes(const std::vector<MixCorpus>& mix, const BatchConfig& config, int dp_size);

// Loads a held-out set once, in its own order. Rank r of dp gets its blocks r, r + dp, ...; a block's index counts all
// blocks. The last block is partly filled. REQUIRES: every pair fits a block, so that no pair is left out of a score.
std::vector<Block> load_all_blocks(Corpus& corpus, const BatchConfig& config, int dp_rank, int dp_size);
// Returns the approximate size of these blocks.
size_t all_blocks_bytes(const Corpus& corpus, const BatchConfig& config, int dp_size);

}  // namespace weft
