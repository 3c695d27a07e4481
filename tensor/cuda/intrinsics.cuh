// tensor/cuda/intrinsics.cuh: wraps PTX instructions (sm_80 and newer) for which CUDA C++ has no operator: rounding to
// half precision, an approximate exponential, asynchronous copies to shared memory. The emulated device has a file with
// the same name and interface.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "tensor/elementary.h"
#include "tensor/half.h"

namespace weft::cuda {

// Rounds two numbers to nearest, ties to even, like from_float(). `first` is in the low half. NaN remains NaN.
template <typename T>
__device__ uint32_t rounded_pair(float first, float second);
template <>
__device__ inline uint32_t rounded_pair<BFloat16>(float first, float second) {
  uint32_t pair;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(second), "f"(first));
  return pair;
}
template <>
__device__ inline uint32_t rounded_pair<Float16>(float first, float second) {
  uint32_t pair;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(second), "f"(first));
  return pair;
}

// Stores 16 bytes at a multiple of 16 in global memory. (The compiler would split an assignment of four words.)
__device__ inline void store_words(void* to, uint32_t a, uint32_t b, uint32_t c, uint32_t d) {
  asm volatile("st.global.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(__cvta_generic_to_global(to)), "r"(a), "r"(b), "r"(c),
               "r"(d)
               : "memory");
}

// Copies 16 bytes from global to shared memory without registers. If !exist, writes zeros and does not read `from`. The
// copy is done when the thread has waited for its group. Other threads see the bytes after a barrier. REQUIRES: that
// both addresses are multiples of 16.
__device__ inline void copy_async(void* to, const void* from, bool exist) {
  asm volatile(
      "cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(static_cast<uint32_t>(__cvta_generic_to_shared(to))),
      "l"(from), "r"(exist ? 16 : 0)
      : "memory");
}
__device__ inline void end_copy_group() { asm volatile("cp.async.commit_group;" ::: "memory"); }
// Waits for all of the thread's copy groups except the last `kLeft`.
template <int kLeft>
__device__ inline void await_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kLeft) : "memory");
}

// Returns 2^x with a relative error below 2^-22 (PTX ISA, ex2.approx.ftz.f32), or 0 where 2^x is subnormal.
__device__ inline float exp2_approximate(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

}  // namespace weft::cuda
