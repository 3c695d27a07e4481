// tensor/cpu/logits.h: reads rows of logits, for the ops that compute losses.
#pragma once

#include <algorithm>
#include <limits>

#include "tensor/cpu/runtime.h"
#include "tensor/half.h"

namespace weft::cpu {

// Rows of logits are long and rarely in the L1 or L2 cache, so they are read in chunks and prefetched. Sums and maxima
// use one lane per column of a chunk, so that consecutive columns do not wait for each other.
inline constexpr int64_t kPiece = 64;

template <typename T, typename F>
void for_each_piece(const T* row, int64_t n, const F& f) {  // f(first column, number of columns)
  constexpr int64_t kLine = 64 / sizeof(T), kAhead = 2048 / sizeof(T);
  for (int64_t begin = 0; begin < n; begin += kPiece) {
    for (int64_t c = begin; c < begin + kPiece; c += kLine) __builtin_prefetch(row + c + kAhead, 1);
    f(begin, std::min(kPiece, n - begin));
  }
}

template <typename T>
float row_max(const T* x, int64_t n) {
  float lanes[kPiece];
  std::fill_n(lanes, kPiece, -std::numeric_limits<float>::infinity());
  for_each_piece(x, n, [&](int64_t begin, int64_t count) {
#pragma omp simd
    for (int64_t c = 0; c < count; ++c) {
      const float v = to_float(x[begin + c]);
      lanes[c] = v > lanes[c] ? v : lanes[c];
    }
  });
  return *std::max_element(lanes, lanes + kPiece);
}

// Returns the target's column on this rank, or -1 if the target is on another rank.
inline int64_t column_of(int64_t target, int64_t first_id, int64_t valid) {
  const int64_t local = target - first_id;
  return target >= 0 && local >= 0 && local < valid ? local : -1;
}

}  // namespace weft::cpu
