// data/order/mix_plan.h: a stream of pairs of several corpora, in exact shares, cut into blocks. It is a pure function
// of (seed, cursor), not of the grid.
//
// Each corpus has its own order and epochs: the two-level shuffle of data/order/pair_order.h, with one window of
// lengths in memory. The corpora take turns at giving a pair (data/order/turns.h), so at any time each has given its
// share of the pairs. A block takes, from the next `look_ahead` pairs of the corpus whose turn it is, the one that
// keeps both sides in balance. If none of these fits, it takes one of another corpus that is not far ahead of its
// share. At its end it exchanges one pair for a candidate of the same corpus that fills it better. Pairs that were
// considered but not taken stay pending, in the cursor. Pairs whose score is too low are passed over
// (data/order/min_score.h). Each block starts with the oldest pending pair of a corpus, and the corpora take turns at
// that, so no pair waits long. The stream continues past the end of an epoch, so no step is ever partial.
//
// Without shuffle the pairs of one corpus come once, in its order. Nothing is chosen: a block ends at the first pair
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
  int64_t position = 0;               // next pair of the epoch's order that has not been considered
  std::vector<int64_t> pending = {};  // pairs considered and not yet used, oldest first
  std::vector<int64_t> epochs = {};   // the epoch of each pending pair; empty if all are from `epoch`
  bool operator==(const Cursor&) const = default;
};

struct PlannedBlock {
  std::vector<EpochPair> pairs;                  // in the order of the block
  int64_t source_tokens = 0, target_tokens = 0;  // real rows, eos included
  std::vector<int64_t> passed;                   // by corpus: pairs taken, or left out while the block was filled
};

struct MixSource {
  MixCorpus corpus;
  LengthSource lengths;  // lengths of its pairs; kBelowScore for those that are not used
};

struct StreamCursor {           // the place in a stream where its next block starts
  std::vector<Cursor> corpora;  // by number; corpora that are not in the mix stay where they are
  // Turns::credits() of the mix's corpora, for giving a pair and for starting a block. Empty at the start of a mix, and
  // for a single corpus.
  std::vector<int64_t> turns = {}, begins = {};
  bool operator==(const StreamCursor&) const = default;
};

class MixPlan {
 public:
  // REQUIRES: `config` is resolved (data/batch_config.h). Pairs longer than a block are skipped and counted. If a
  // corpus is too small for its streams, its pages and its look-ahead are smaller.
  MixPlan(std::vector<MixSource> mix, const BatchConfig& config, uint64_t seed, bool shuffle = true,
          Stream stream = {});
  MixPlan(MixPlan&&) noexcept;
  ~MixPlan();

  PlannedBlock next();
  StreamCursor cursor() const;
  std::vector<int64_t> epochs() const;  // by corpus of the mix
  void seek(const StreamCursor& cursor);
  // Return the pairs passed over since construction: those that do not fit a block, and those whose score is too low.
  int64_t dropped() const;
  int64_t below_score() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace weft
