// data/order/mix_plan.h: plans a stream of pairs from several corpora, in exact shares and divided into blocks. The
// stream depends only on (seed, cursor), not on the grid.
//
// Each corpus has its own order and epochs: the two-level shuffle of data/order/pair_order.h, with one window of
// lengths in memory. The corpora take turns at yielding a pair (data/order/turns.h), so at any time each corpus has
// yielded its share. From the next `look_ahead` pairs of the corpus whose turn it is, a block takes the pair that fills
// both sides most evenly. If none fits, the block takes a pair from another corpus that is not far ahead of its share.
// Finally, one pair is exchanged for a candidate of the same corpus that fills the block better. Pairs that were
// considered but not taken stay pending, and the cursor lists them. Pairs whose score is too low are passed over
// (data/order/min_score.h). Each block starts with the oldest pending pair of a corpus; the corpora take turns at this
// as well, so no pair waits long. The stream continues past the end of an epoch, so no step is ever partial.
//
// Without shuffling, the stream yields the pairs of one corpus once, in corpus order. A block ends at the first pair
// that does not fit. After the last pair the cursor is at epoch 1 and next() returns empty blocks.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "data/batch.h"
#include "data/batch_config.h"
#include "data/order/mix.h"
#include "data/order/pair_order.h"

namespace weft {

struct Cursor {  // the place in the order of a corpus where the next block starts
  int64_t epoch = 0;
  int64_t position = 0;               // the first place in the epoch's order that has not been considered
  std::vector<int64_t> pending = {};  // pairs considered and not yet used, oldest first
  std::vector<int64_t> epochs = {};   // the epoch of each pending pair; empty if all are from `epoch`
  bool operator==(const Cursor&) const = default;
};

struct PlannedBlock {
  std::vector<EpochPair> pairs;                  // in the order of the block
  int64_t source_tokens = 0, target_tokens = 0;  // real rows, eos included
  std::vector<int64_t> passed;                   // per corpus: pairs taken or passed over for the block
};

struct MixSource {
  MixCorpus corpus;
  LengthSource lengths;  // lengths of its pairs; kBelowScore for unused pairs
};

struct StreamCursor {           // the place in a stream where its next block starts
  std::vector<Cursor> corpora;  // by number; corpora outside the mix keep their places
  // Turns::credits() of the mix's corpora: `turns` to yield a pair, `begins` to start a block. Both are empty at the
  // start of a mix and for a single corpus.
  std::vector<int64_t> turns = {}, begins = {};
  bool operator==(const StreamCursor&) const = default;
};

class MixPlan {
 public:
  // REQUIRES: `config` is resolved (data/batch_config.h). Pairs longer than a block are skipped and counted. If a
  // corpus is too small for the number of streams, smaller pages and a smaller look-ahead are used.
  MixPlan(std::vector<MixSource> mix, const BatchConfig& config, uint64_t seed, bool shuffle = true,
          Stream stream = {});
  MixPlan(MixPlan&&) noexcept;
  ~MixPlan();

  PlannedBlock next();
  StreamCursor cursor() const;
  std::vector<int64_t> epochs() const;  // by corpus of the mix
  void seek(const StreamCursor& cursor);
  // Both count pairs passed over since construction, because of their length or because of their score.
  int64_t dropped() const;
  int64_t below_score() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace weft
