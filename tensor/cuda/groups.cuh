// tensor/cuda/groups.cuh: divides a matrix among threads: one thread per group of eight columns, or one block per row.
#pragma once

#include <algorithm>

#include "tensor/cuda/launch.cuh"
#include "tensor/cuda/vector.cuh"

namespace weft::cuda {

inline constexpr int kGroupThreads = 256;  // max threads per block

// Calls f(row, first column, number of columns to the end of the row). A block covers blockDim.x groups of each of
// blockDim.y rows, and `across` blocks cover a row.
template <typename F>
__global__ void __launch_bounds__(kGroupThreads) for_each_group(int64_t rows, int64_t cols, unsigned across, F f) {
  const int64_t row = static_cast<int64_t>(blockIdx.x / across) * blockDim.y + threadIdx.y;
  const int64_t col = (static_cast<int64_t>(blockIdx.x % across) * blockDim.x + threadIdx.x) * kGroup;
  if (row < rows && col < cols) f(row, col, cols - col);
}

template <typename F>
void launch_groups(Context& ctx, const char* name, int64_t rows, int64_t cols, const F& f) {
  unsigned wide = 1;
  while (wide < kGroupThreads && wide * kGroup < cols) wide *= 2;
  const auto high = static_cast<unsigned>(std::clamp<int64_t>(rows, 1, kGroupThreads / wide));
  const unsigned across = blocks_for(cols, wide * kGroup);
  launch(ctx, name, for_each_group<F>, across * blocks_for(rows, high), dim3(wide, high), 0, rows, cols, across, f);
}

// The number of rows and columns of tensors with the same shape. If all are contiguous, they count as one row.
struct Extent {
  int64_t rows, cols;
};
template <typename... Others>
Extent extent_of(const Tensor& t, const Others&... others) {
  if (t.contiguous() && (others.contiguous() && ...)) return {1, t.numel()};
  return {t.rows(), t.cols()};
}

template <typename F>
void launch_groups(Context& ctx, const char* name, Extent extent, const F& f) {
  launch_groups(ctx, name, extent.rows, extent.cols, f);
}

// Returns the number of threads of a block that processes one row: full warps, at most `most` threads.
inline unsigned threads_of_row(int64_t cols, int64_t most = kGroupThreads) {
  constexpr int64_t kWarpCols = kWarp * kGroup;
  return static_cast<unsigned>(std::clamp<int64_t>((cols + kWarpCols - 1) / kWarpCols * kWarp, kWarp, most));
}

}  // namespace weft::cuda
