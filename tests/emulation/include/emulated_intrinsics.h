// tests/emulation/include/emulated_intrinsics.h: CUDA's language for device code: qualifiers, built-in
// variables, barriers, warp intrinsics. Each thread of a block is a fibre, which may wait in the calls below.
#pragma once

#include <atomic>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <source_location>
#include <type_traits>

#include "vector_types.h"

#define __global__
#define __device__
#define __host__
#define __forceinline__ __inline__ __attribute__((always_inline))
#define __launch_bounds__(...)
#define __grid_constant__
#define __shared__ thread_local  // one block at a time on a host thread (shared_memory_begin.cpp)

// Indices of the running thread; `initial-exec` makes reading them cheap.
extern __thread uint3 threadIdx __attribute__((tls_model("initial-exec")));
extern __thread uint3 blockIdx __attribute__((tls_model("initial-exec")));
extern __thread dim3 blockDim __attribute__((tls_model("initial-exec")));
extern __thread dim3 gridDim __attribute__((tls_model("initial-exec")));

namespace weft::emulation {

using Place = std::source_location;  // of a call in the kernel, for messages

enum class Shuffle { index, up, down, exclusive_or };
uint64_t shuffle(Shuffle kind, unsigned mask, uint64_t bits, unsigned argument, int width, Place where);
unsigned ballot(unsigned mask, bool predicate, Place where);

template <typename T>
T shuffle_value(Shuffle kind, unsigned mask, T value, unsigned argument, int width, Place where) {
  static_assert(std::is_arithmetic_v<T> && (sizeof(T) == 4 || sizeof(T) == 8), "shuffles move 32 or 64 bits");
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  bits = shuffle(kind, mask, bits, argument, width, where);
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

}  // namespace weft::emulation

void __syncthreads(weft::emulation::Place where = weft::emulation::Place::current());
void __syncwarp(unsigned mask = 0xFFFFFFFFu, weft::emulation::Place where = weft::emulation::Place::current());

template <typename T>
T __shfl_sync(unsigned mask, T value, int source, int width = 32,
              weft::emulation::Place where = weft::emulation::Place::current()) {
  using enum weft::emulation::Shuffle;
  return weft::emulation::shuffle_value(index, mask, value, static_cast<unsigned>(source), width, where);
}
template <typename T>
T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32,
                 weft::emulation::Place where = weft::emulation::Place::current()) {
  return weft::emulation::shuffle_value(weft::emulation::Shuffle::up, mask, value, delta, width, where);
}
template <typename T>
T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32,
                   weft::emulation::Place where = weft::emulation::Place::current()) {
  return weft::emulation::shuffle_value(weft::emulation::Shuffle::down, mask, value, delta, width, where);
}
template <typename T>
T __shfl_xor_sync(unsigned mask, T value, int lane_mask, int width = 32,
                  weft::emulation::Place where = weft::emulation::Place::current()) {
  return weft::emulation::shuffle_value(weft::emulation::Shuffle::exclusive_or, mask, value,
                                        static_cast<unsigned>(lane_mask), width, where);
}

inline unsigned __ballot_sync(unsigned mask, int predicate,
                              weft::emulation::Place where = weft::emulation::Place::current()) {
  return weft::emulation::ballot(mask, predicate != 0, where);
}
inline int __any_sync(unsigned mask, int predicate, weft::emulation::Place where = weft::emulation::Place::current()) {
  return weft::emulation::ballot(mask, predicate != 0, where) != 0;
}
inline int __all_sync(unsigned mask, int predicate, weft::emulation::Place where = weft::emulation::Place::current()) {
  return weft::emulation::ballot(mask, predicate != 0, where) == mask;
}

inline int __popc(unsigned x) { return std::popcount(x); }
inline int __clz(int x) { return std::countl_zero(static_cast<unsigned>(x)); }
inline int __ffs(int x) { return x == 0 ? 0 : std::countr_zero(static_cast<unsigned>(x)) + 1; }

template <typename T>
T __ldg(const T* p) {
  return *p;
}
inline void __threadfence() { std::atomic_thread_fence(std::memory_order_seq_cst); }

// Blocks may run on several of the host's threads.
inline int atomicAdd(int* p, int x) { return std::atomic_ref<int>(*p).fetch_add(x); }
inline unsigned atomicAdd(unsigned* p, unsigned x) { return std::atomic_ref<unsigned>(*p).fetch_add(x); }

inline float rsqrtf(float x) { return 1.0f / std::sqrt(x); }
