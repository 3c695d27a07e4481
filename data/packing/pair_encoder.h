// data/packing/pair_encoder.h: encodes a parallel text into pairs of ids, on all cores, in line order.
//
// Memory: a few chunks of lines, whatever the size of the text.
#pragma once

#include <cstdint>
#include <functional>

#include "data/packing/pair_text.h"
#include "data/shards/shard.h"
#include "data/tokenizer.h"

namespace weft {

enum class OverLong : uint8_t { drop, cut };

struct EncodeOptions {
  PairFiles text;
  int64_t max_length = 250;  // tokens of a sentence
  OverLong over_long = OverLong::drop;
  int threads = 1;
};

struct SideCounts {  // of the pairs kept, before cutting
  int64_t words = 0, tokens = 0;
  int64_t unknown = 0, bytes = 0;  // tokens for characters that the vocabulary lacks
};

struct EncodeCounts {
  int64_t read = 0, empty = 0, over_long = 0, kept = 0;  // pairs; over_long ones are kept if cut
  SideCounts source, target;
  EncodeCounts& operator+=(const EncodeCounts& other);
};

// Calls sink(line number from 0, pair) for every pair that is kept, on the calling thread, and done(lines so
// far) now and then.
EncodeCounts encode_pairs(const EncodeOptions& options, const Tokenizer& source, const Tokenizer& target,
                          const std::function<void(int64_t, const PairIds&)>& sink,
                          const std::function<void(int64_t)>& done);

}  // namespace weft
