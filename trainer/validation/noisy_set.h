// trainer/validation/noisy_set.h: copies a packed set with noisy source text (data/noise/noise.h) when a run starts.
//
// A shard contains tokens, so sources are decoded, changed and encoded again. Targets are unchanged.
#pragma once

#include <cstdint>
#include <vector>

#include "data/batch.h"
#include "data/corpus.h"
#include "data/noise/noise.h"
#include "trainer/inference/model_loader.h"

namespace weft {

struct NoisySet {
  std::vector<std::vector<int32_t>> sources;  // all sources of the set, in order
  int64_t longest = 0;                        // maximum tokens of a source
  int64_t num_cut = 0;                        // sources that had more and were truncated
  std::vector<Block> blocks;                  // this dp rank's: blocks rank, rank + size, ...
};

struct BlockShape {
  int64_t source_rows = 0, rows = 0;
  int64_t max_positions = 0;  // the model's
};

// The noise of sentence i depends only on i, not on the run. Throws an Error of kind data if a target does not fit a
// block.
NoisySet read_noisy_set(Corpus& corpus, TextNoise noise, const Tokenizer& source, const BlockShape& shape, int dp_rank,
                        int dp_size);

}  // namespace weft
