// data/order/turns.h: decides whose turn it is among weighted parts, so that each has had its exact share at any time.
//
// After k turns, part i has had w_i k turns, rounded up or down, where w_i is its weight divided by the sum of weights.
// The rule is Tijdeman's, "The chairman assignment problem" (Discrete Mathematics 32, 1980): among the parts that lag
// behind enough, it takes the one whose turn is due first. A part's number of turns differs from its share by at most 1
// - 1 / (2 n - 2), for n parts. The caller may give a turn to a different part; later turns then compensate for this.
//
// All numbers are integers, so every machine makes the same decisions. The state is one bounded credit per part.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace weft {

class Turns {
 public:
  static constexpr int64_t kMaxParts = 32, kMaxWeight = 1'000'000;  // higher limits could make products overflow
  static constexpr int64_t kMaxAhead = 1;                           // turns that a part may be ahead of its share

  // REQUIRES: weights are in 1 .. kMaxWeight. The turns repeat after (sum of the weights) / (their greatest common
  // divisor) turns. Phase 0 starts at the start of this period, and any consecutive phases are spread evenly over it.
  explicit Turns(const std::vector<int64_t>& weights, int64_t phase = 0);

  size_t next() const;               // the part whose turn it is
  void take(size_t part);            // records a turn of this part
  bool may_take(size_t part) const;  // true unless a turn would put the part too far ahead of its share

  // Returns (share of the turns so far - turns it had) * sum of the weights, for each part. The sum over parts is 0.
  const std::vector<int64_t>& credits() const { return credits_; }
  bool restore(const std::vector<int64_t>& credits);  // returns false, and changes nothing, if they are invalid

 private:
  int64_t due(size_t part) const { return credits_[part] + weights_[part]; }  // credit after the next turn
  void advance_to(int64_t num_turns);

  std::vector<int64_t> weights_, credits_;
  int64_t total_ = 0;
};

}  // namespace weft
