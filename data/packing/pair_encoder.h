// data/packing/pair_encoder.h: encodes a parallel text into pairs of ids, on all cores, in line order.
//
// Memory: a few chunks of lines, whatever the size of the text.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "data/packing/pair_filter.h"
#include "data/packing/pair_text.h"
#include "data/packing/pair_variants.h"
#include "data/shards/shard.h"
#include "data/tokenizer.h"

namespace weft {

struct EncodeOptions {
  PairFiles text;
  FilterOptions filter;
  std::vector<bool> duplicates;            // [pairs], or empty
  const PairVariants* variants = nullptr;  // null: pairs have one text
  int64_t show_dropped = 0;                // texts kept for each fault
  int64_t documents = 0;  // tokens up to which consecutive pairs are joined (document_joiner.h); 0: they are not
  int threads = 1;
};

struct SideCounts {  // of the pairs kept, before cutting
  int64_t words = 0, tokens = 0;
  int64_t unknown = 0, bytes = 0;  // tokens for characters that the vocabulary lacks
};

struct EncodeCounts {
  int64_t read = 0, kept = 0, cut = 0;  // pairs; those that were cut are kept
  int64_t plain_variants = 0;           // which did not fit, and became the plain pair
  int64_t borders = 0;                  // of those read: both sides are empty between documents
  int64_t packed = 0;  // texts handed over: one for each pair kept, fewer if they are joined, more of variants
  Drops dropped;
  SideCounts source, target;
  void add(EncodeCounts&& later);  // those of pairs that follow
};

// Calls sink(line number from 0, pair) for every pair that is kept, or that kept ones are joined to, on the calling
// thread, and done(lines so far) now and then. With variants: for each variant of the pair, one after the other. One
// that is empty or longer than the filter allows is replaced by the plain pair. Variants are not joined.
EncodeCounts encode_pairs(const EncodeOptions& options, const Tokenizer& source, const Tokenizer& target,
                          const std::function<void(int64_t, const PairIds&)>& sink,
                          const std::function<void(int64_t)>& done);

}  // namespace weft
