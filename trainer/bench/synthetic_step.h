// trainer/bench/synthetic_step.h: a step's blocks without a corpus: sentences as long as real ones, of made-up pieces.
//
// Lengths are log-normal with mean 27 pieces and at most 128, as those of WMT's news are; a target is within about
// 15 % of its source. Pieces follow Zipf's law. All of it is a pure function of the configuration, the same on every
// rank.
#pragma once

#include "data/batch.h"
#include "data/shards/shard.h"
#include "trainer/run_config.h"

namespace weft {

// Pieces of a pair without eos, at least 1 and at most `longest`.
PairLength synthetic_length(uint64_t seed, int64_t pair, int64_t longest);

// What Loader::next() would return to this rank of the dp group; `config` is resolved but for its data.
Step synthetic_step(const RunConfig& config, int dp_rank, int dp_size);
Step first_block_of(const Step& step);  // a step of this one alone

// Model operations of training on these blocks, by their sentences' own lengths (model/flops.h).
double training_flops(const ModelConfig& model, const std::vector<Block>& blocks);

}  // namespace weft
