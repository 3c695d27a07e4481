// tensor/cuda/normalization.cuh: divides rows among the threads of a block. A team of full warps processes a row. Its
// threads hold groups of eight columns in registers.
#pragma once

#include <algorithm>
#include <type_traits>

#include "tensor/cuda/launch.cuh"
#include "tensor/cuda/norm_width.h"
#include "tensor/cuda/vector.cuh"

namespace weft::cuda {

inline constexpr int kTeamThreads = 512;  // max threads per block
inline constexpr int64_t kNarrowCols = kTeamThreads * kGroup;
inline constexpr int kWideGroups = 8;  // groups per thread for wide rows; narrow rows need 1
static_assert(kWidestNorm == kNarrowCols * kWideGroups);

// Returns the size of a block with as many teams as fit, at most `rows`: blockDim.x threads per team, blockDim.y teams.
inline dim3 block_of_teams(int64_t rows, int64_t cols) {
  constexpr int64_t kWarpCols = kWarp * kGroup;
  const int64_t warps = std::clamp<int64_t>((cols + kWarpCols - 1) / kWarpCols, 1, kTeamThreads / kWarp);
  const int64_t teams = std::clamp<int64_t>(rows, 1, kTeamThreads / (warps * kWarp));
  return dim3(static_cast<unsigned>(warps * kWarp), static_cast<unsigned>(teams));
}

// Calls f with the number of a row's groups that a thread holds, as a type: f(std::integral_constant<int, number>()).
template <typename F>
void for_width(int64_t cols, const F& f) {
  require_norm_width(cols);
  if (cols <= kNarrowCols) {
    f(std::integral_constant<int, 1>());
  } else {
    f(std::integral_constant<int, kWideGroups>());
  }
}

// Returns the first column of the thread's k-th group.
__device__ inline int64_t team_column(int k) { return (static_cast<int64_t>(k) * blockDim.x + threadIdx.x) * kGroup; }

// Sums kCount values over the threads of each team, which all get the result. REQUIRES: every thread of the block
// calls it. `parts` is shared memory, kCount values per warp of the block.
template <int kCount>
__device__ inline void team_sums(float (&x)[kCount], float* parts) {
  const unsigned lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp, warps = blockDim.x / kWarp;
  for (float& value : x) value = warp_sum(value);
  if (warps == 1) return;
  float* own = parts + threadIdx.y * warps * kCount;
  __syncthreads();  // the earlier sums have been read
  if (lane == 0)
    for (int i = 0; i < kCount; ++i) own[warp * kCount + i] = x[i];
  __syncthreads();
  for (int i = 0; i < kCount; ++i) x[i] = warp_sum(lane < warps ? own[lane * kCount + i] : 0.0f);
}

}  // namespace weft::cuda
