// tensor/op/quantize.cpp: rounds a row of a weight to int8.
#include "tensor/op/quantize.h"

#include <cmath>
#include <limits>

#include "tensor/elementary.h"

namespace weft {

float largest_magnitude(const float* row, int64_t count) {
  uint32_t largest = 0;  // bits of absolute values are ordered like the values
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

}  // namespace weft
