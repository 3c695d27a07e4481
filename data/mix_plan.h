// data/mix_plan.h: a stream of pairs of several corpora, in exact shares, cut into blocks: a pure function of (seed,
// cursor), not of the grid.
//
// Each corpus has its own order and epochs: the two-level shuffle of data/pair_order.h, one window of lengths in
// memory. The corpora take turns to give a pair (data/turns.h), so at any time each has given its share of the pairs. A
// block takes, from the next `look_ahead` pairs of the corpus whose turn it is, the one that keeps both sides in
// balance. If none of these fits any more, it takes one of another corpus that is not far ahead of its share. At its
// end it exchanges one pair for a candidate of the same corpus that fills it better. Pairs that were considered but not
// taken stay pending, in the cursor. Pairs whose score is too low are passed over (data/min_score.h). Each block starts
// with the oldest pending pair of a corpus; the corpora take turns at that, too, so no pair waits long. The stream
// continues past the end of an epoch: no step is ever partial.
//
// Without shuffle the pairs of one corpus come once, in its order. Nothing is chosen: a block ends at the first pair
// that does not fit. After the last pair the cursor is at epoch 1 and next() returns empty blocks.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "data/block_plan.h"

namespace weft {

struct MixSource {     // a corpus of a mix
  int64_t corpus = 0;  // its number in the run
  int64_t weight = 1;  // Turns::kMostWeight at most
  int64_t num_pairs = 0;
  int64_t num_passing = num_pairs;  // pairs that `lengths` does not mark as kBelowScore
  LengthSource lengths;
  std::string name = "the corpus";  // in messages
};

struct StreamCursor {           // the place in a stream where its next block starts
  std::vector<Cursor> corpora;  // by number; those that are not in the mix stay where they are
  // Turns::credits() of the mix's corpora: to give a pair, and to begin a block. Empty at the start of a mix, and for a
  // single corpus.
  std::vector<int64_t> turns = {}, begins = {};
  bool operator==(const StreamCursor&) const = default;
};

class MixPlan {
 public:
  // `config.source_rows` is resolved (not 0). Pairs longer than a block are skipped and counted. In streams that a
  // corpus is too small for, its pages and its look-ahead are smaller.
  MixPlan(std::vector<MixSource> mix, const BatchConfig& config, uint64_t seed, bool shuffle = true,
          Stream stream = {});
  MixPlan(MixPlan&&) noexcept;
  ~MixPlan();

  PlannedBlock next();
  StreamCursor cursor() const;
  std::vector<int64_t> epochs() const;  // of each corpus of the mix
  void seek(const StreamCursor& cursor);
  // Pairs passed over since construction: that do not fit a block, and whose score is too low.
  int64_t dropped() const;
  int64_t below_score() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace weft
