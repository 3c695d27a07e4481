// data/order/turns.h: whose turn it is among parts with weights, so that each has its exact share at any time.
//
// After k turns of exact shares, part i has had w_i k, rounded up or down (w_i: its weight over the sum of all). The
// rule is that of Tijdeman, "The chairman assignment problem" (Discrete Mathematics 32, 1980): of the parts that lag
// behind enough, the one whose turn is due first. The number of turns that a part has had differs from its share by at
// most 1 - 1 / (2 n - 2). Turns may be given to others; then the rule makes up for them.
//
// All numbers are integers, so every machine decides alike. The state is a credit for each part, which is bounded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace weft {

class Turns {
 public:
  static constexpr int64_t kMaxParts = 32, kMaxWeight = 1'000'000;  // or products would overflow
  static constexpr int64_t kMaxAhead = 1;                           // of its share that may() lets a part be, in turns

  // Weights of 1 .. kMaxWeight. The turns repeat themselves after (sum of the weights) / (their greatest common
  // divisor) of them. Phases begin at places that are spread over this period, and so are any consecutive ones; 0 at
  // its start.
  explicit Turns(const std::vector<int64_t>& weights, int64_t phase = 0);

  size_t next() const;          // whose turn it is
  void give(size_t part);       // gives it the turn
  bool may(size_t part) const;  // whether it would not be too far ahead of its share with a turn now

  // (share of the turns so far - turns that it has had) * sum of the weights, for each part; the sum is 0.
  const std::vector<int64_t>& credits() const { return credits_; }
  bool restore(const std::vector<int64_t>& credits);  // false, and nothing changes, if these cannot be credits

 private:
  int64_t due(size_t part) const { return credits_[part] + weights_[part]; }  // with the next turn
  void stand_after(int64_t num_turns);

  std::vector<int64_t> weights_, credits_;
  int64_t total_ = 0;
};

}  // namespace weft
