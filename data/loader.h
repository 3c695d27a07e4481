// data/loader.h: prepares the training steps of one data-parallel rank ahead of time, on a thread.
//
// A rank plans and reads only its own blocks of each step (data/order/step_plan.h). The thread plans about one window
// of pairs at a time, and reads them in each corpus's order. It keeps their ids and a few finished steps in memory.
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
  // REQUIRES: nothing else uses the corpora of `mix` while the Loader exists, and `config` is resolved.
  Loader(Mix mix, const BatchConfig& config, uint64_t seed, int dp_rank, int dp_size, const StepCursor& start = {});
  ~Loader();

  Step next();                // waits for the next step; throws the thread's Error after all earlier steps
  StepCursor cursor() const;  // the place after next()'s last step, in the streams that this rank plans

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

struct PlannedCorpus {  // a corpus of a mix, of which only the manifest is known
  Manifest manifest;
  int64_t weight = 1;
};
// Returns the approximate max memory of a Loader, in bytes.
size_t read_ahead_bytes(const std::vector<PlannedCorpus>& mix, const BatchConfig& config, int dp_size);

// Loads a complete held-out set, in corpus order. Rank r of dp ranks gets the blocks r, r + dp, ... of the set. Throws
// a data Error if a pair does not fit into a block, because a score must cover every pair.
std::vector<Block> load_all_blocks(Corpus& corpus, const BatchConfig& config, int dp_rank, int dp_size);
// Returns the approximate memory that load_all_blocks() needs, in bytes.
size_t all_blocks_bytes(const Manifest& manifest, const BatchConfig& config, int dp_size);

}  // namespace weft
