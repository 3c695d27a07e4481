// trainer/validation/noisy_set.h: reads a packed set and adds noise to the source text (data/noise/noise.h).
//
// Shards contain tokens, so at its start a run decodes the sources, changes them, and encodes them again. Targets are
// unchanged.
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
  int64_t num_cut = 0;                        // number of sources that were truncated to `longest`
  std::vector<Block> blocks;                  // this dp rank's blocks, with the indices rank, rank + size, ...
};

struct BlockShape {
  int64_t source_rows = 0, rows = 0;
  int64_t max_positions = 0;  // of the model
};

// The noise of sentence i depends only on i, not on the run. Throws an Error of kind data if a target is too long for a
// block.
NoisySet read_noisy_set(Corpus& corpus, TextNoise noise, const Tokenizer& source, const BlockShape& shape, int dp_rank,
                        int dp_size);

}  // namespace weft
