// tensor/cuda/reduce.cuh: sums over the rows of a matrix in two stages. Each block sums a range of rows that depends
// only on the shape. Then the ranges are added in order, so the sums are deterministic.
#pragma once

#include "tensor/cuda/launch.cuh"
#include "tensor/cuda/vector.cuh"
#include "tensor/ops.h"

namespace weft::cuda {

// Returns the number of bytes of shared memory that sum_over_y needs.
inline size_t exchange_bytes(dim3 block) { return sizeof(float) * kGroup * block.x * block.y; }

// Sums `held`, eight columns, over the threads with the same threadIdx.x, in order of threadIdx.y. The first thread
// writes the sum to `to`. REQUIRES: all threads of the block call it, and exchange_bytes of shared memory.
__device__ inline void sum_over_y(const float (&held)[kGroup], float* exchange, float* to, int64_t count) {
  constexpr unsigned kPacket = Packet<float>::kSize;
  const unsigned threads = blockDim.x * blockDim.y, thread = threadIdx.y * blockDim.x + threadIdx.x;
  // The first packets of all threads precede the second packets, so that neighboring threads use different banks.
  const auto packet = [&](unsigned of_thread, unsigned i) {
    return reinterpret_cast<Packet<float>*>(exchange + (i / kPacket * threads + of_thread) * kPacket);
  };
  __syncthreads();  // the earlier exchange has been read
  for (unsigned i = 0; i < kGroup; i += kPacket) {
    const Packet<float> own{{held[i], held[i + 1], held[i + 2], held[i + 3]}};
    *packet(thread, i) = own;
  }
  __syncthreads();
  if (threadIdx.y != 0) return;
  float sum[kGroup];
  for (int i = 0; i < kGroup; ++i) sum[i] = held[i];
  for (unsigned y = 1; y < blockDim.y; ++y) {
    for (unsigned i = 0; i < kGroup; i += kPacket) {
      const Packet<float> other = *packet(y * blockDim.x + threadIdx.x, i);
      for (unsigned j = 0; j < kPacket; ++j) sum[i + j] += other.v[j];
    }
  }
  store(sum, to, count);
}

// add_ranges computes y[i][c] += partial[0][i][c] + partial[1][i][c] + ..., in an order that depends only on `ranges`.
struct RangeSums {
  static constexpr int kMax = 3;
  const float* partial = nullptr;  // [ranges, sums, cols]
  int64_t sums = 0;
  float* y[kMax] = {};  // null entries are skipped
};
struct SeveralRangeSums {
  RangeSums of[ops::NormSums::kMax];
  int64_t count = 0;
};
void add_ranges(Context& ctx, const char* name, int64_t ranges, int64_t cols, const SeveralRangeSums& all);

}  // namespace weft::cuda
