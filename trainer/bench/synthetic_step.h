// trainer/bench/synthetic_step.h: builds the blocks of a step without a corpus, from random tokens.
//
// Sentence lengths are log-normal with a mean of 27 tokens and a maximum of 128, as in WMT news. The length of a target
// differs from its source length by about 15 %. Tokens follow Zipf's law. Block i depends only on the configuration,
// not on the rank that builds the block.
#pragma once

#include "data/batch.h"
#include "data/shards/shard.h"
#include "trainer/config/run_config.h"

namespace weft {

// Returns the lengths of a pair in tokens without eos. Each is from 1 to `longest`.
PairLength synthetic_length(uint64_t seed, int64_t pair, int64_t longest);

// Returns the step of this dp rank, like Loader::next(). REQUIRES: `config` is resolved except for its data.
Step synthetic_step(const RunConfig& config, int dp_rank, int dp_size);
Step first_block_of(const Step& step);  // a step with only the first block

}  // namespace weft
