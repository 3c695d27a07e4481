// trainer/optimizer/weight_average.h: computes the rate of the exponential moving average of the weights (train.ema;
// Polyak & Juditsky 1992) as in Marian's exponential smoothing and TensorFlow's ExponentialMovingAverage.
//
// The average starts at the initial weights w_0 of training. After the t-th update of the weights, t from 1,
//   average_t = average_(t-1) + (1 - d_t) (w_t - average_(t-1)),  d_t = min(decay, (1 + t) / (10 + t)).
// The second argument of min, which both programs use, makes the average forget the first weights faster. It exceeds
// decay = 0.999 after 8,990 updates. Skipped steps do not count as updates.
#pragma once

#include <algorithm>
#include <cstdint>

namespace weft {

// Returns 1 - d_t, which is in (0, 1).
inline double average_rate(double decay, int64_t t) {
  const auto updates = static_cast<double>(t);
  return std::max(1 - decay, 9 / (10 + updates));
}

}  // namespace weft
