// trainer/bench/synthetic_step.h: builds the blocks of a step without a corpus, from random tokens.
//
// Lengths are log-normal with mean 27 tokens and at most 128, like WMT's news. A target is about as long as its source,
// within 15 %. Tokens follow Zipf's law. The blocks are a pure function of the configuration, the same on every rank.
#pragma once

#include "data/batch.h"
#include "data/shards/shard.h"
#include "trainer/config/run_config.h"

namespace weft {

// Returns the lengths of a pair in tokens without eos, from 1 to `longest`.
PairLength synthetic_length(uint64_t seed, int64_t pair, int64_t longest);

// Returns what Loader::next() would return to this dp rank. REQUIRES: `config` is resolved except for its data.
Step synthetic_step(const RunConfig& config, int dp_rank, int dp_size);
Step first_block_of(const Step& step);  // a step with only the first block

}  // namespace weft
