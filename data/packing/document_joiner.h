// data/packing/document_joiner.h: joins consecutive pairs of a document, so that a model sees their context
// (Tiedemann & Scherrer 2017, "Neural Machine Translation with Extended Context").
#pragma once

#include <cstdint>
#include <functional>

#include "data/shards/shard.h"
#include "data/tokenizer.h"

namespace weft {

class DocumentJoiner {
 public:
  using Sink = std::function<void(int64_t number, const PairIds&)>;

  // `longest` is the max number of tokens per side of joined pairs, including tags and separators (kSeparator). A
  // longer pair is not joined.
  DocumentJoiner(int64_t longest, const Tokenizer& source, const Tokenizer& target, Sink sink);

  // REQUIRES: pairs are added in order. A gap in the numbers or a change of tags also ends a document. The sink gets
  // each joined pair with the number and tags of its first pair, and with the mean weight and score of its pairs.
  void add(int64_t number, bool begins_document, const PairIds& pair);
  void finish();

 private:
  bool fits(const PairIds& pair) const;

  int64_t longest_;
  const Tokenizer &source_, &target_;
  int32_t source_separator_, target_separator_;
  Sink sink_;
  PairIds joined_;
  int64_t first_ = 0, last_ = 0;  // numbers of pairs
  int64_t count_ = 0;             // pairs in joined_
};

}  // namespace weft
