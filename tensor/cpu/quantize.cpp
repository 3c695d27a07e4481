// tensor/cpu/quantize.cpp: rounds the rows of weights to int8.
#include "tensor/op/quantize.h"

#include <cmath>
#include <limits>
#include <vector>

#include "tensor/cpu/runtime.h"
#include "tensor/elementary.h"

namespace weft {

float largest_magnitude(const float* row, int64_t count) {
  uint32_t largest = 0;  // bits of absolute values are ordered like the values
#pragma omp simd reduction(max : largest)
  for (int64_t c = 0; c < count; ++c) {
    const uint32_t bits = bits_from_float(row[c]) & 0x7FFFFFFFu;
    largest = bits > largest ? bits : largest;
  }
  return float_from_bits(largest);
}

float quantize_row(const float* row, int64_t count, int8_t* q) {
  constexpr uint32_t kDropped = 0x7F;  // the low bits, which are rounded away
  const float largest = largest_magnitude(row, count);
  const bool is_finite = largest <= std::numeric_limits<float>::max();
  const float rounded = float_from_bits((bits_from_float(largest / kInt8Max) + kDropped / 2 + 1) & ~kDropped);
  const float scale = is_finite && rounded * kInt8Max >= kLeastInt8Row ? rounded : 0.0f;
  for (int64_t c = 0; c < count; ++c) q[c] = scale > 0 ? static_cast<int8_t>(std::lrint(row[c] / scale)) : int8_t{0};
  return is_finite ? scale : std::numeric_limits<float>::quiet_NaN();
}

void round_rows_to_int8(float* x, int64_t rows, int64_t cols) {
#pragma omp parallel if (rows * cols >= cpu::kWorthThreads)
  {
    std::vector<int8_t> q(static_cast<size_t>(cols));
#pragma omp for schedule(static)
    for (int64_t r = 0; r < rows; ++r) {
      float* row = x + r * cols;
      const float scale = quantize_row(row, cols, q.data());
      for (int64_t c = 0; c < cols; ++c) row[c] = scale * static_cast<float>(q[static_cast<size_t>(c)]);
    }
  }
}

}  // namespace weft
