// trainer/validation/noisy_set.h: a copy of a packed set whose source text is noisy (data/noise/noise.h), made when a
// run starts.
//
// A shard holds tokens: the sources are decoded, changed, and encoded again. Targets stay as they are.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/batch.h"
#include "data/corpus.h"
#include "data/noise/noise.h"
#include "trainer/inference/evaluate.h"
#include "trainer/inference/model_loader.h"

namespace weft {

struct NoisySet {
  std::vector<std::vector<int32_t>> sources;  // all of the set's, in order
  int64_t longest = 0;                        // tokens that a source may have
  int64_t num_cut = 0;                        // sources that had more, and lost their ends
  std::vector<Block> blocks;                  // this dp rank's: blocks rank, rank + size, ...
};

struct BlockShape {
  int64_t source_rows = 0, rows = 0;
  int64_t max_positions = 0;  // of the model
};

// The noise of sentence i depends on i alone, and not on the run. A target that does not fit a block is an Error of
// kind data.
NoisySet read_noisy_set(Corpus& corpus, TextNoise noise, const Tokenizer& source, const BlockShape& shape, int dp_rank,
                        int dp_size);

}  // namespace weft
