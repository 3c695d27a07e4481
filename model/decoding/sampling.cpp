// model/decoding/sampling.cpp: restricts distributions to their most probable tokens, and draws from them.
#include "model/decoding/sampling.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numeric>

#include "tensor/random.h"

namespace weft {
namespace {

// The indices of positive weights, of which sort_first() brings the largest to the front.
class Ranking {
 public:
  explicit Ranking(const std::vector<double>& weights) : weights_(weights) {
    for (size_t i = 0; i < weights.size(); ++i)
      if (weights[i] > 0) order_.push_back(i);
  }
  size_t size() const { return order_.size(); }
  size_t operator[](size_t i) const { return order_[i]; }
  void sort_first(size_t count) {
    const auto larger = [&](size_t a, size_t b) {
      return weights_[a] != weights_[b] ? weights_[a] > weights_[b] : a < b;
    };
    const auto middle = order_.begin() + static_cast<int64_t>(count);
    std::nth_element(order_.begin(), middle, order_.end(), larger);
    std::sort(order_.begin(), middle, larger);
  }

 private:
  const std::vector<double>& weights_;
  std::vector<size_t> order_;
};

// Returns how many of the first `most` ranked tokens are needed for the share `top_p` of their weight.
size_t nucleus(const std::vector<double>& weights, Ranking& ranking, size_t most, double top_p) {
  double total = 0;
  if (most == ranking.size()) {
    for (const double w : weights) total += w;
  } else {
    ranking.sort_first(most);
    for (size_t i = 0; i < most; ++i) total += weights[ranking[i]];
  }
  for (size_t sorted = std::min<size_t>(most, 64);; sorted = std::min(most, 8 * sorted)) {
    ranking.sort_first(sorted);
    double sum = 0;
    for (size_t i = 0; i < sorted; ++i) {
      sum += weights[ranking[i]];
      if (sum >= top_p * total) return i + 1;
    }
    if (sorted == most) return most;  // all, if rounding kept the sum below the total
  }
}

}  // namespace

std::vector<double> sampling_weights(std::span<const double> log_probs, const SamplingOptions& options) {
  const double highest = *std::max_element(log_probs.begin(), log_probs.end());
  assert(std::isfinite(highest));
  std::vector<double> weights(log_probs.size());
  for (size_t i = 0; i < weights.size(); ++i) weights[i] = std::exp((log_probs[i] - highest) / options.temperature);
  const bool has_top_k = options.top_k > 0 && options.top_k < std::ssize(weights);
  if (!has_top_k && options.top_p >= 1) return weights;

  Ranking ranking(weights);
  size_t count = has_top_k ? std::min(static_cast<size_t>(options.top_k), ranking.size()) : ranking.size();
  if (options.top_p < 1)
    count = nucleus(weights, ranking, count, options.top_p);
  else
    ranking.sort_first(count);
  std::vector<double> kept(weights.size(), 0.0);
  for (size_t i = 0; i < count; ++i) kept[ranking[i]] = weights[ranking[i]];
  return kept;
}

int32_t draw(std::span<const double> weights, double uniform) {
  const double target = uniform * std::accumulate(weights.begin(), weights.end(), 0.0);
  double sum = 0;
  size_t last = 0;  // with a positive weight
  for (size_t i = 0; i < weights.size(); ++i) {
    if (weights[i] <= 0) continue;
    sum += weights[last = i];
    if (sum > target) break;
  }
  return static_cast<int32_t>(last);
}

uint64_t sampling_key(std::span<const int32_t> source, std::span<const int32_t> prefix) {
  uint64_t hash = 14695981039346656037u;
  const auto add = [&](int32_t value) {
    for (int shift = 0; shift < 32; shift += 8)
      hash = (hash ^ (static_cast<uint32_t>(value) >> shift & 0xFF)) * 1099511628211u;
  };
  for (const int32_t id : source) add(id);
  add(-1);  // between source and prefix
  for (const int32_t id : prefix) add(id);
  return hash;
}

double sampling_uniform(uint64_t seed, uint64_t key, int64_t sample, int64_t position) {
  const PhiloxBits bits = philox(seed, key << 11 | static_cast<uint64_t>(position), static_cast<uint32_t>(sample),
                                 purpose_of("decode.sample"));
  return static_cast<double>(uint64_t{bits.v[0]} << 21 | bits.v[1] >> 11) * 0x1p-53;
}

}  // namespace weft
