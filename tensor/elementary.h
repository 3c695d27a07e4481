// tensor/elementary.h: computes e^x, ln x and the normal distribution's cdf, for float and double.
//
// The float versions are branch-free polynomials, so that loops over them vectorize. The double versions call the C
// library and serve as a reference.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#include "tensor/dtype.h"

namespace weft {

WEFT_HD inline float float_from_bits(uint32_t bits) {
  float x;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}
WEFT_HD inline uint32_t bits_from_float(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  return bits;
}

// Returns e^x within 2 units in the last place. It splits x into n ln 2 + r with |r| <= ln 2 / 2 (Cody & Waite 1980)
// and sums the Taylor series of e^r. For x < -86.99, where n = -126 and e^x < 1.7e-38, it returns 0. NaN remains NaN.
WEFT_HD inline float exp_of(float x) {
  const float clamped = x > 89.0f ? 89.0f : x < -87.33f ? -87.33f : x;
  const float shifted = clamped * 1.44269504f + 12582912.0f;  // + 1.5 * 2^23: the low bits of the sum are round(.)
  const float n = shifted - 12582912.0f;
  const float r = (clamped - n * 0.693359375f) + n * 2.12194440e-4f;  // ln 2 in two parts, the first one exact
  float p = 1.0f / 5040;
  p = p * r + 1.0f / 720;
  p = p * r + 1.0f / 120;
  p = p * r + 1.0f / 24;
  p = p * r + 1.0f / 6;
  p = p * r + 0.5f;
  p = p * r + 1.0f;
  p = p * r + 1.0f;
  const float half_power = float_from_bits((bits_from_float(shifted) - 0x4B400000u + 126u) << 23);  // 2^(n - 1)
  return p * half_power * 2.0f;
}
WEFT_HD inline double exp_of(double x) { return std::exp(x); }

// Returns ln x within 2 units in the last place for normal x > 0. Infinity and NaN are returned unchanged. It splits x
// into 2^n (1 + f) with sqrt(1/2) <= 1 + f < sqrt(2), and computes ln(1 + f) = 2 artanh(f / (2 + f)) by a series.
WEFT_HD inline float log_of(float x) {
  const int32_t n = static_cast<int32_t>(bits_from_float(x) - 0x3F3504F3u) >> 23;
  const float f = float_from_bits(bits_from_float(x) - (static_cast<uint32_t>(n) << 23)) - 1.0f;
  const float s = f / (2.0f + f), square = s * s;
  float series = 2.0f / 9;
  series = series * square + 2.0f / 7;
  series = series * square + 2.0f / 5;
  series = series * square + 2.0f / 3;
  const float power = static_cast<float>(n);  // ln 2 in two parts, the first one exact
  const float log = power * 0.693359375f + (f - (s * (f - series * square) + power * 2.12194440e-4f));
  return x <= 3.40282347e38f ? log : x;
}

// Returns the cdf of the standard normal distribution. The relative error is below 4e-7 near 0 and grows with x^2 / 2
// in the lower tail. The formula is cdf(-a) = exp(-a^2 / 2) u P(u) with u = 1 / (1 + 0.27 a). The polynomial P was
// fitted at Chebyshev points on 0 <= a <= 13.2.
WEFT_HD inline float normal_cdf(float x) {
  const float a = x < 0.0f ? -x : x;
  const float u = 1.0f / (1.0f + 0.27f * a);
  float p = 0.0289069805f;
  p = p * u - 0.126257852f;
  p = p * u + 0.169385955f;
  p = p * u - 0.0688292012f;
  p = p * u + 0.107608654f;
  p = p * u + 0.0721262097f;
  p = p * u + 0.101793602f;
  p = p * u + 0.107545160f;
  p = p * u + 0.107720509f;
  const float tail = exp_of(-0.5f * a * a) * u * p;
  return x < 0.0f ? tail : 1.0f - tail;
}
WEFT_HD inline double normal_cdf(double x) { return 0.5 * std::erfc(-x * 0.70710678118654752440); }

}  // namespace weft
