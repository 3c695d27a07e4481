// tensor/cuda/exponential.cuh: computes e^x with the precision that the type of the stored results needs.
#pragma once

#include <type_traits>

#include "tensor/cuda/intrinsics.cuh"
#include "tensor/elementary.h"

namespace weft::cuda {

// For T = float, the result is within two units in the last place (exp_of). For bf16 and f16, two instructions suffice.
// Their relative error is below 2^-22 + |x| 2^-23: 2^-22 from the exponential, the rest from x log2(e). Where |x| is
// large, e^x is much less than 1, its value at the row's maximum. So the error of a softmax is far below 2^-9 or 2^-12,
// half a unit of its stored values.
template <typename T>
__device__ inline float exp_for(float x) {
  if constexpr (std::is_same_v<T, float>) {
    return exp_of(x);
  } else {
    constexpr float kLog2E = 1.44269504f;
    return exp2_approximate(x * kLog2E);
  }
}

}  // namespace weft::cuda
