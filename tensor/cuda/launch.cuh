// tensor/cuda/launch.cuh: launches kernels, and contains what every kernel needs: indices, shared memory, sums over a
// warp and a block. It is plain CUDA; the emulated device (tests/emulation) has its own cuda_runtime.h.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "tensor/context.h"
#include "tensor/cuda/runtime/runtime.h"

namespace weft::cuda {

inline constexpr int kWarp = 32;

// Launches kernel<<<grid, block, shared_bytes>>> on ctx's stream. A failed launch throws an Error that contains `name`.
template <typename... Parameters, typename... Arguments>
void launch(Context& ctx, const char* name, void (*kernel)(Parameters...), dim3 grid, dim3 block, size_t shared_bytes,
            Arguments... arguments) {
  if (grid.x == 0 || grid.y == 0) return;  // an empty launch is not an error
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = block;
  config.dynamicSmemBytes = shared_bytes;
  config.stream = runtime(ctx).stream_;
  if (shared_bytes > 48 * 1024)
    check(cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel), cudaFuncAttributeMaxDynamicSharedMemorySize,
                               static_cast<int>(shared_bytes)),
          name);
  check(cudaLaunchKernelEx(&config, kernel, static_cast<Parameters>(arguments)...), name);
  note_launch(name);
}

constexpr unsigned blocks_for(int64_t n, int64_t per_block) {
  return static_cast<unsigned>((n + per_block - 1) / per_block);
}

// The dynamic shared memory of the block is aligned to 16 bytes.
extern __shared__ int4 dynamic_shared[];
template <typename T>
__device__ inline T* shared_memory() {
  return reinterpret_cast<T*>(dynamic_shared);
}

// These compute a sum or maximum over a warp in a fixed order. All lanes get the result.
template <typename T>
__device__ inline T warp_sum(T x) {
  for (int offset = kWarp / 2; offset > 0; offset /= 2) x += __shfl_xor_sync(0xFFFFFFFFu, x, offset);
  return x;
}
template <typename T>
__device__ inline T warp_max(T x) {
  for (int offset = kWarp / 2; offset > 0; offset /= 2) {
    const T other = __shfl_xor_sync(0xFFFFFFFFu, x, offset);
    x = other > x ? other : x;
  }
  return x;
}

// Sums x over a block of at most 32 full warps. All threads get the result. `parts` is shared memory of 32 values,
// which may be reused after the next __syncthreads().
template <typename T>
__device__ inline T block_sum(T x, T* parts) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp, warp = static_cast<int>(threadIdx.x) / kWarp;
  const int warps = static_cast<int>(blockDim.x) / kWarp;
  x = warp_sum(x);
  if (lane == 0) parts[warp] = x;
  __syncthreads();
  x = lane < warps ? parts[lane] : T(0);
  return warp_sum(x);
}

}  // namespace weft::cuda
