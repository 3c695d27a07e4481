// data/order/turns.cpp: computes Tijdeman's rule in integers.
#include "data/order/turns.h"

#include <algorithm>
#include <numeric>

namespace weft {

// Phase p starts at frac(p / golden ratio) of a period, so any consecutive phases are spread evenly (Knuth, The Art of
// Computer Programming, volume 3, section 6.4).
Turns::Turns(const std::vector<int64_t>& weights, int64_t phase)
    : weights_(weights),
      credits_(weights.size(), 0),
      total_(std::accumulate(weights.begin(), weights.end(), int64_t{0})) {
  const int64_t divisor = std::accumulate(weights.begin(), weights.end(), int64_t{0}, std::gcd<int64_t, int64_t>);
  const uint64_t place = static_cast<uint64_t>(phase) * 0x9E3779B97F4A7C15 >> 32;  // in units of period / 2^32
  advance_to(static_cast<int64_t>(place * static_cast<uint64_t>(total_ / divisor) >> 32));
}

// Gives every part its exact share of all turns but the last kMaxByTheRule, and applies the rule to these last turns.
// Exact shares of all turns are not enough, because the rule gives a small part its turn in the first half of the
// part's round, so all phases would do that at the same time.
void Turns::advance_to(int64_t num_turns) {
  constexpr int64_t kMaxByTheRule = 4096;
  const int64_t by_the_rule = std::min(num_turns, kMaxByTheRule), before = num_turns - by_the_rule;
  // Largest remainders: a part's turns are rounded down, except for the parts with the largest remainders.
  int64_t left = before;
  for (size_t i = 0; i < weights_.size(); ++i) {
    credits_[i] = weights_[i] * before % total_;
    left -= weights_[i] * before / total_;
  }
  for (; left > 0; --left) *std::ranges::max_element(credits_) -= total_;
  for (int64_t i = 0; i < by_the_rule; ++i) take(next());
}

// Minimizes (1 - 1 / (2 n - 2) - due / total) / weight, multiplied by the denominators. Some part always lags behind by
// at least 1 / n, because the n parts together are due one turn.
size_t Turns::next() const {
  const auto n = static_cast<int64_t>(weights_.size());
  if (n == 1) return 0;
  const auto slack = [&](size_t i) { return (2 * n - 3) * total_ - (2 * n - 2) * due(i); };
  size_t best = weights_.size();
  for (size_t i = 0; i < weights_.size(); ++i) {
    if ((2 * n - 2) * due(i) < total_) continue;
    if (best == weights_.size() || slack(i) * weights_[best] < slack(best) * weights_[i]) best = i;
  }
  return best;
}

void Turns::take(size_t part) {
  for (size_t i = 0; i < weights_.size(); ++i) credits_[i] += weights_[i];
  credits_[part] -= total_;
}

bool Turns::may_take(size_t part) const { return due(part) - total_ >= -kMaxAhead * total_; }

bool Turns::restore(const std::vector<int64_t>& credits) {
  const int64_t n = std::ssize(weights_), most = (kMaxAhead + 2) * n * total_;
  const auto too_far = [&](int64_t credit) { return credit < -most || credit > most; };
  if (std::ssize(credits) != n || std::ranges::any_of(credits, too_far)) return false;
  if (std::accumulate(credits.begin(), credits.end(), int64_t{0}) != 0) return false;
  credits_ = credits;
  return true;
}

}  // namespace weft
