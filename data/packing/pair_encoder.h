// data/packing/pair_encoder.h: encodes a parallel text into pairs of ids, on all cores, in line order.
//
// Memory: a few chunks of lines, whatever the size of the text.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "data/packing/pair_filter.h"
#include "data/packing/pair_text.h"
#include "data/shards/shard.h"
#include "data/tokenizer.h"

namespace weft {

struct EncodeOptions {
  PairFiles text;
  FilterOptions filter;
  std::vector<bool> duplicates;  // [pairs], or empty
  int64_t show_dropped = 0;      // texts kept for each fault
  int threads = 1;
};

struct SideCounts {  // of the pairs kept, before cutting
  int64_t words = 0, tokens = 0;
  int64_t unknown = 0, bytes = 0;  // tokens for characters that the vocabulary lacks
};

struct EncodeCounts {
  int64_t read = 0, kept = 0, cut = 0;  // pairs; those that were cut are kept
  Drops dropped;
  SideCounts source, target;
  void add(EncodeCounts&& later);  // those of pairs that follow
};

// Calls sink(line number from 0, pair) for every pair that is kept, on the calling thread, and done(lines so
// far) now and then.
EncodeCounts encode_pairs(const EncodeOptions& options, const Tokenizer& source, const Tokenizer& target,
                          const std::function<void(int64_t, const PairIds&)>& sink,
                          const std::function<void(int64_t)>& done);

}  // namespace weft
