// tensor/half.h: defines the two 16-bit float formats for storage: bf16 (f32's exponent, 8 bits of precision) and f16
// (IEEE 754 binary16). Arithmetic is always f32: to_float widens, and from_float rounds to nearest, ties to even.
//
// Conversions are branch-free integer arithmetic, so that loops over them vectorize and every device rounds the same.
#pragma once

#include <bit>
#include <cstdint>

#include "tensor/dtype.h"

namespace weft {

struct BFloat16 {
  uint16_t bits = 0;
};
struct Float16 {
  uint16_t bits = 0;
};

template <>
struct DTypeOf<BFloat16> {
  static constexpr DType value = DType::bf16;
};
template <>
struct DTypeOf<Float16> {
  static constexpr DType value = DType::f16;
};

WEFT_HD inline float to_float(float x) { return x; }
WEFT_HD inline float to_float(BFloat16 x) { return std::bit_cast<float>(static_cast<uint32_t>(x.bits) << 16); }
WEFT_HD inline float to_float(Float16 x) {
  const uint32_t magnitude = x.bits & 0x7FFFu, sign = (x.bits & 0x8000u) << 16;
  // The shift moves exponent and fraction to their places in f32. The multiplication corrects the exponent's bias, even
  // of subnormals. An exponent of all ones means infinity or NaN in both formats.
  const uint32_t finite = std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude << 13) * 0x1p112f);
  const uint32_t special = magnitude >= 0x7C00u ? 0x7F800000u : 0u;
  return std::bit_cast<float>(finite | special | sign);
}

template <typename T>
T from_float(float x);
template <>
WEFT_HD inline float from_float<float>(float x) {
  return x;
}
template <>
WEFT_HD inline BFloat16 from_float<BFloat16>(float x) {
  const uint32_t bits = std::bit_cast<uint32_t>(x);
  const uint32_t rounded = (bits + 0x7FFFu + ((bits >> 16) & 1u)) >> 16;
  const uint32_t quiet_nan = (bits >> 16) | 0x40u;
  return {static_cast<uint16_t>(x != x ? quiet_nan : rounded)};
}
template <>
WEFT_HD inline Float16 from_float<Float16>(float x) {
  const uint32_t bits = std::bit_cast<uint32_t>(x), magnitude = bits & 0x7FFFFFFFu, sign = (bits >> 16) & 0x8000u;
  const uint32_t normal = (magnitude - (112u << 23) + 0xFFFu + ((magnitude >> 13) & 1u)) >> 13;
  // Adding 1/2 shifts a subnormal's bits to the end of the fraction, and the addition rounds them.
  const uint32_t subnormal = std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) - 0x3F000000u;
  const uint32_t special = magnitude > 0x7F800000u ? 0x7E00u : 0x7C00u;
  const uint32_t result = magnitude >= 0x47800000u ? special : magnitude < 0x38800000u ? subnormal : normal;
  return {static_cast<uint16_t>(result | sign)};
}

// Calls f with a zero of the storage type `dtype` (f32, bf16 or f16): for_storage(t.dtype, [&](auto zero) { using T =
// decltype(zero); ... }).
template <typename F>
decltype(auto) for_storage(DType dtype, F&& f) {
  switch (dtype) {
    case DType::bf16:
      return f(BFloat16{});
    case DType::f16:
      return f(Float16{});
    default:
      return f(float{});
  }
}

}  // namespace weft
