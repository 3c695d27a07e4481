// tensor/dtype.h: defines the element types of tensors.
#pragma once

#include <cstddef>
#include <cstdint>

// Scalar formulas (math.h, random.h) run on host and device. No other line of Weft depends on whether nvcc compiles it.
#if defined(__CUDACC__)
#define WEFT_HD __host__ __device__
#else
#define WEFT_HD
#endif

namespace weft {

// Tensors store values as f32, bf16 or f16 (half.h), reported sums as f64, and ids and offsets as i32. i8 is only the
// type of packed copies of weights, counted in bytes (tensor/op/quantize.h).
enum class DType : uint8_t { f32, bf16, f16, f64, i32, i8 };

constexpr size_t size_of(DType t) {
  return t == DType::f64 ? 8 : t == DType::bf16 || t == DType::f16 ? 2 : t == DType::i8 ? 1 : 4;
}
constexpr const char* name_of(DType t) {
  constexpr const char* kNames[] = {"f32", "bf16", "f16", "f64", "i32", "i8"};
  return kNames[static_cast<int>(t)];
}

template <typename T>
struct DTypeOf;
template <>
struct DTypeOf<float> {
  static constexpr DType value = DType::f32;
};
template <>
struct DTypeOf<double> {
  static constexpr DType value = DType::f64;
};
template <>
struct DTypeOf<int32_t> {
  static constexpr DType value = DType::i32;
};

}  // namespace weft
