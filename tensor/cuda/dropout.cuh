// tensor/cuda/dropout.cuh: computes the dropout masks of random.h, for eight neighboring elements at a time.
#pragma once

#include <type_traits>

#include "tensor/cuda/vector.cuh"
#include "tensor/random.h"

namespace weft::cuda {

// Returns the bits of the eight elements from global index `index` on, two per word as in a group of random.h. If the
// elements span two groups, draws both groups and shifts their bits together.
__device__ inline PhiloxBits dropout_bits(const DropoutMask& dropout, uint64_t index) {
  const uint64_t group = index / kGroup;
  const auto lead = static_cast<int>(index % kGroup);
  const PhiloxBits low = philox(dropout.seed, group, dropout.step, dropout.purpose);
  if (lead == 0) return low;
  const PhiloxBits high = philox(dropout.seed, group + 1, dropout.step, dropout.purpose);
  uint32_t words[8] = {low.v[0], low.v[1], low.v[2], low.v[3], high.v[0], high.v[1], high.v[2], high.v[3]};
  for (int lane = 0; lane < lead; ++lane)
    for (int i = 0; i < 7; ++i) words[i] = words[i] >> 16 | words[i + 1] << 16;
  return {{words[0], words[1], words[2], words[3]}};
}

// Computes the factor of each element: keep_scale() or 0. REQUIRES: a rate above 0.
__device__ inline void dropout_factors(const DropoutMask& dropout, uint64_t index, float (&factors)[kGroup]) {
  const PhiloxBits bits = dropout_bits(dropout, index);
  const uint32_t threshold = dropout.threshold();
  const float scale = dropout.keep_scale();
  for (int i = 0; i < kGroup; ++i) factors[i] = (bits.v[i / 2] >> (16 * (i % 2)) & 0xFFFFu) >= threshold ? scale : 0.0f;
}

// Applies dropout to the group at (row, col).
__device__ inline void drop(const DropoutMask& dropout, int64_t row, int64_t col, float (&x)[kGroup]) {
  if (dropout.rate <= 0) return;
  float factors[kGroup];
  dropout_factors(dropout, dropout.index(row, col), factors);
  for (int i = 0; i < kGroup; ++i) x[i] *= factors[i];
}

// Calls f(std::true_type) if there is dropout, else f(std::false_type). A kernel that seldom has any needs no code for
// it then.
template <typename F>
void for_dropout(const Dropout& dropout, F f) {
  if (dropout.rate > 0)
    f(std::true_type{});
  else
    f(std::false_type{});
}

}  // namespace weft::cuda
