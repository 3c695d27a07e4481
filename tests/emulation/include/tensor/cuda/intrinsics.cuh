// tests/emulation/include/tensor/cuda/intrinsics.cuh: replaces tensor/cuda/intrinsics.cuh: the same numbers, and where
// the PTX ISA allows an error, nearly the largest one.
#pragma once

#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <stdexcept>

#include "tensor/elementary.h"
#include "tensor/half.h"
#include "tests/emulation/runtime/device.h"

namespace weft::cuda {

template <typename T>
uint32_t rounded_pair(float first, float second) {
  return from_float<T>(first).bits | static_cast<uint32_t>(from_float<T>(second).bits) << 16;
}

inline void store_words(void* to, uint32_t a, uint32_t b, uint32_t c, uint32_t d) {
  if (reinterpret_cast<uintptr_t>(to) % 16 != 0) throw std::runtime_error("st.v4: not at a multiple of 16 bytes");
  const uint32_t words[4] = {a, b, c, d};
  std::memcpy(to, words, sizeof words);
}

// The copies are made as late as possible: when they are awaited.
inline void copy_async(void* to, const void* from, bool exist) {
  if (reinterpret_cast<uintptr_t>(to) % 16 != 0 || (exist && reinterpret_cast<uintptr_t>(from) % 16 != 0))
    throw std::runtime_error("cp.async: not at a multiple of 16 bytes");
  emulation::copy_later({to, exist ? from : nullptr, 16});
}
inline void end_copy_group() { emulation::end_copy_group(); }
template <int kLeft>
inline void await_copies() {
  emulation::await_copies(kLeft);
}

inline float exp2_approximate(float x) {
  constexpr float kError = 0.9f * 0x1p-22f;
  if (std::fabs(x) < 0x1p-126f) return 1.0f;  // exactly (PTX ISA, ex2)
  const float sign = bits_from_float(x) & 1u ? 1.0f : -1.0f;  // differs from call to call
  const float y = std::exp2(x) * (1.0f + sign * kError);
  return y < 0x1p-126f ? 0.0f : y;
}

}  // namespace weft::cuda
