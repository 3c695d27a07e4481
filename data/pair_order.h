// data/pair_order.h: the shuffled order of a corpus's pairs in every epoch, by position.
//
// Pages of consecutive pairs are permuted over the corpus. A window is the next `window` pages of that order,
// and its pairs are permuted among themselves. Both permutations are keyed by (seed, epoch), so any position
// can be looked up at any time. One window of lengths is held in memory; it is read page by page.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "data/corpus.h"
#include "data/permutation.h"

namespace weft {

// Reads the lengths of pairs first .. first + count - 1 into `out`, as Corpus::read_lengths does.
using LengthSource = std::function<void(int64_t first, int64_t count, std::vector<PairLength>& out)>;

struct PairRows {
  int64_t pair = 0;
  int64_t source = 0, target = 0;  // rows in a block: its tokens and eos
};

class PairOrder {
 public:
  // Requires at least one pair, `page` and `window` at least 1. Without shuffle: corpus order.
  PairOrder(int64_t num_pairs, LengthSource lengths, int64_t page, int64_t window, uint64_t seed, bool shuffle);

  PairRows at(int64_t epoch, int64_t position);  // position 0 .. num_pairs - 1; cheap within a window
  PairRows lookup(int64_t pair);                 // by number

 private:
  Permutation permutation(int64_t size, int64_t epoch, int64_t index, uint32_t purpose) const;
  void load_window(int64_t epoch, int64_t position);

  int64_t num_pairs_, page_, num_pages_, window_;
  LengthSource lengths_;
  uint64_t seed_;
  bool shuffle_;

  int64_t epoch_ = -1, first_ = 0;  // the loaded window: its epoch and first position,
  std::vector<PairRows> loaded_;    // its pairs page after page,
  Permutation sentences_;           // and the order in which they are given
  std::vector<PairLength> buffer_;
};

}  // namespace weft
