// data/order/pair_order.h: computes the shuffled order of a corpus's pairs in any epoch, by position.
//
// A page is a run of consecutive pairs, and the pages of a corpus are permuted. A window is a run of `window` pages in
// this order, and its pairs are permuted among themselves. Both permutations are keyed by (seed, epoch), so any
// position can be looked up at any time. The lengths of one window are kept in memory.
//
// The order may be divided into streams, which are read in parallel. Stream j of n takes pages j, j + n, ... of the
// concatenated pages of all epochs. So streams divide every epoch as evenly as its pages allow, and each pair of an
// epoch is in one stream. Windows are n times smaller, so that n streams together mix as many pages as a single one.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "data/corpus.h"
#include "data/order/permutation.h"

namespace weft {

// Reads the lengths of pairs first .. first + count - 1 in an epoch of the corpus into `out`. The lengths differ
// between epochs if pairs have variants. A pair whose score is too low gets kBelowScore.
using LengthSource = std::function<void(int64_t epoch, int64_t first, int64_t count, std::vector<PairLength>& out)>;
inline constexpr PairLength kBelowScore{.source = -1, .target = -1};

struct PairRows {
  int64_t pair = 0;
  int64_t source = 0, target = 0;  // rows in a block: tokens and eos
  bool is_below_score() const { return source == 0; }
};

struct Stream {
  int64_t index = 0, count = 1;
};

struct PairShuffle {
  int64_t page = 1, window = 1;  // pairs per page, pages per window; at least 1
  uint64_t seed = 0;
  bool enabled = true;  // false: corpus order
};

class PairOrder {
 public:
  PairOrder(int64_t num_pairs, LengthSource lengths, const PairShuffle& shuffle, Stream stream = {});  // num_pairs > 0

  int64_t size(int64_t epoch);                   // pairs in the stream's part of an epoch; may be 0
  PairRows at(int64_t epoch, int64_t position);  // REQUIRES: 0 <= position < size(epoch); cheap within a window
  PairRows lookup(int64_t pair, int64_t epoch);  // looks up a pair by its number

 private:
  struct Part {  // the stream's part of an epoch
    int64_t epoch = -1;
    int64_t first_rank = 0, num_pages = 0;  // ranks of its pages in the epoch: first_rank, first_rank + count, ...
    int64_t short_page = 0;                 // index in the part of the corpus's last page, which may be short
    Permutation pages = Permutation::identity(0);  // pages of the whole epoch
  };

  Permutation permutation(int64_t size, int64_t epoch, int64_t index, uint32_t purpose) const;
  const Part& part_of(int64_t epoch);
  int64_t position_of_page(const Part& part, int64_t index) const;
  void load_window(int64_t epoch, int64_t position);

  int64_t num_pairs_, page_, num_pages_, window_;
  LengthSource lengths_;
  PairShuffle shuffle_;
  Stream stream_;
  Part part_;  // the part of the epoch that was used last

  int64_t epoch_ = -1, first_ = 0;  // the epoch and first position of the loaded window,
  std::vector<PairRows> loaded_;    // its pairs page after page,
  Permutation sentences_;           // and the order in which they are yielded
  std::vector<PairLength> buffer_;
};

}  // namespace weft
