// data/packing/pair_encoder.h: encodes a parallel text into pairs of ids, on all cores, in line order.
//
// Only a few chunks of lines are in memory at a time, regardless of the text's size.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "data/packing/pair_filter.h"
#include "data/packing/pair_text.h"
#include "data/packing/pair_variants.h"
#include "data/shards/shard.h"
#include "data/subword/text_changes.h"
#include "data/tokenizer.h"

namespace weft {

struct EncodeOptions {
  PairFiles text;
  FilterOptions filter;
  std::vector<bool> duplicates;            // [pairs], or empty
  const PairVariants* variants = nullptr;  // null: one text per pair
  int64_t show_dropped = 0;                // dropped texts kept per fault
  int64_t show_changed = 0;                // changed texts kept per side and kind of change
  int64_t documents = 0;  // max tokens per side of joined pairs (document_joiner.h); 0 = pairs are not joined
  int threads = 1;
  std::function<void(std::string_view)> on_target;  // receives the raw target of each pair kept, in order; may be empty
};

struct SideCounts {  // counts over the pairs kept, before cutting
  int64_t words = 0, tokens = 0;
  int64_t unknown = 0, bytes = 0;  // tokens for characters that the vocabulary lacks
  TextChanges changed;
};

struct EncodeCounts {
  int64_t read = 0, kept = 0, cut = 0;  // numbers of pairs; cut pairs are also kept
  int64_t plain_variants = 0;           // variants that did not fit and were replaced by the plain pair
  int64_t borders = 0;                  // lines read with both sides empty, between documents
  int64_t packed = 0;  // texts passed to the sink: one per pair kept, fewer if joined, more with variants
  Drops dropped;
  SideCounts source, target;
  void add(EncodeCounts&& later);  // adds the counts of pairs that follow
};

// Calls sink(line number, pair) for every kept or joined pair, on the calling thread, and done(lines so far) from time
// to time. Lines are numbered from 0. With variants, calls sink for each variant of the pair, one after the other. A
// variant that is empty or longer than the filter allows is replaced by the plain pair. Variants are not joined.
EncodeCounts encode_pairs(const EncodeOptions& options, const Tokenizer& source, const Tokenizer& target,
                          const std::function<void(int64_t, const PairIds&)>& sink,
                          const std::function<void(int64_t)>& done);

}  // namespace weft
