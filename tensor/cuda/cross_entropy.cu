// tensor/cuda/cross_entropy.cu: softmax statistics of rows of logits, and loss and gradient from them. One
// block per row. Each kernel reads the row once; with a whole vocabulary one kernel does both, and finds the
// row in the cache.
#include <limits>

#include "tensor/cuda/groups.cuh"
#include "tensor/math.h"
#include "tensor/ops.h"

namespace weft::cuda {

namespace {

// Merges `count` logits into a row's statistics; rescales the sum of exponentials when the maximum grows.
__device__ void add_logits(const float (&x)[kGroup], int64_t count, SoftmaxRow<float>& row) {
  float max = row.max;
  for (int i = 0; i < kGroup; ++i)
    if (i < count && x[i] > max) max = x[i];
  if (max > row.max) row.sum_exp *= exp_of(row.max - max);
  row.max = max;
  for (int i = 0; i < kGroup; ++i) {
    if (i >= count) continue;
    // A logit of -infinity adds nothing, even as the first one. NaN propagates.
    row.sum_exp += x[i] == -std::numeric_limits<float>::infinity() ? 0.0f : exp_of(x[i] - max);
    row.sum_logits += x[i];
  }
}

// Merges the statistics of a warp's lanes; all lanes get them, equal up to rounding. Targets are not
// included.
__device__ SoftmaxRow<float> warp_merge(SoftmaxRow<float> row) {
  for (int offset = kWarp / 2; offset > 0; offset /= 2) {
    const SoftmaxRow<float> other{__shfl_xor_sync(0xFFFFFFFFu, row.max, offset),
                                  __shfl_xor_sync(0xFFFFFFFFu, row.sum_exp, offset),
                                  __shfl_xor_sync(0xFFFFFFFFu, row.sum_logits, offset), 0};
    row = merge(row, other);
  }
  return row;
}

// Merges over the whole block, into its first warp. `parts` is shared memory, three values per warp.
__device__ SoftmaxRow<float> block_merge(SoftmaxRow<float> row, float* parts) {
  const unsigned lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
  row = warp_merge(row);
  if (lane == 0) {
    parts[3 * warp] = row.max;
    parts[3 * warp + 1] = row.sum_exp;
    parts[3 * warp + 2] = row.sum_logits;
  }
  __syncthreads();
  if (warp != 0) return row;
  row = {};
  if (lane < blockDim.x / kWarp) row = {parts[3 * lane], parts[3 * lane + 1], parts[3 * lane + 2], 0};
  return warp_merge(row);
}

template <typename T>
struct Logits {
  Rows<T> rows;
  int64_t cols, valid, first_id;
  const int32_t* targets;  // ?
  __device__ int64_t target(int64_t row) const { return targets != nullptr ? targets[row] : -1; }
  // The target's column, or -1 if it is on another rank.
  __device__ int64_t target_column(int64_t row) const {
    const int64_t id = target(row), local = id - first_id;
    return id >= 0 && local >= 0 && local < valid ? local : -1;
  }
};
template <typename T, typename Arguments>
Logits<T> logits_of(const Arguments& a) {
  return {rows_of<T>(a.logits), a.logits.cols(), a.valid, a.first_id, vector_of<int32_t>(a.targets)};
}

constexpr int kParts = 3 * kGroupThreads / kWarp;

// Statistics of one row, computed by all threads of the block and returned on thread 0.
template <typename T>
__device__ SoftmaxRow<float> statistics_of(const Logits<T>& logits, int64_t row, float* parts) {
  const T* from = logits.rows[row];
  SoftmaxRow<float> sums;
  for (int64_t col = threadIdx.x * kGroup; col < logits.valid; col += blockDim.x * kGroup) {
    float x[kGroup];
    load(from + col, logits.valid - col, x);
    add_logits(x, logits.valid - col, sums);
  }
  sums = block_merge(sums, parts);
  const int64_t target = logits.target_column(row);
  if (threadIdx.x == 0 && target >= 0) sums.target = to_float(from[target]);
  return sums;
}

__device__ void write_statistics(const SoftmaxRow<float>& row, float* stats) {
  stats[0] = row.max;
  stats[1] = row.sum_exp;
  stats[2] = row.sum_logits;
  stats[3] = row.target;
}
__device__ SoftmaxRow<float> read_statistics(const float* stats) { return {stats[0], stats[1], stats[2], stats[3]}; }

template <typename T>
__global__ void __launch_bounds__(kGroupThreads) row_statistics(Logits<T> logits, float* stats) {
  __shared__ float parts[kParts];
  const int64_t row = blockIdx.x;
  const SoftmaxRow<float> found = statistics_of(logits, row, parts);
  if (threadIdx.x == 0) write_statistics(found, stats + row * 4);
}

struct Loss {
  const float* stats;  // [ranks, rows, 4]?
  int64_t ranks, rows;
  LabelSmoothing<float> smoothing;
  bool backward;
  const StepScalars* scalars;
  float *loss, *nll;

  __device__ SoftmaxRow<float> merged_row(int64_t row) const {
    SoftmaxRow<float> merged;
    for (int64_t rank = 0; rank < ranks; ++rank)
      merged = merge(merged, read_statistics(stats + (rank * rows + row) * 4));
    return merged;
  }
};

// Writes a row's gradient over its logits; 0 for padding columns and for a row without a target.
template <typename T>
__device__ void write_gradient(const Logits<T>& logits, const Loss& a, int64_t row, const SoftmaxRow<float>& merged) {
  T* x = logits.rows[row];
  const int64_t valid = logits.target(row) < 0 ? 0 : logits.valid, target = logits.target_column(row);
  const float inverse_sum = 1.0f / merged.sum_exp;
  const float scale = a.scalars->loss_scale;
  for (int64_t col = threadIdx.x * kGroup; col < logits.cols; col += blockDim.x * kGroup) {
    float d[kGroup];
    load(x + col, valid - col, d);
    for (int i = 0; i < kGroup; ++i) {
      const float wanted = col + i == target ? a.smoothing.on_target : a.smoothing.elsewhere;
      d[i] = col + i < valid ? scale * cross_entropy_gradient(d[i], merged.max, inverse_sum, wanted) : 0.0f;
    }
    store(d, x + col, logits.cols - col);
  }
}

// Returns the statistics on every thread; each thread merges those of other ranks.
template <typename T>
__device__ SoftmaxRow<float> whole_row(const Logits<T>& logits, const Loss& a, int64_t row) {
  __shared__ float parts[kParts], whole[4];
  if (a.stats != nullptr) return a.merged_row(row);
  const SoftmaxRow<float> found = statistics_of(logits, row, parts);
  if (threadIdx.x == 0) write_statistics(found, whole);
  __syncthreads();  // and nobody writes a gradient before all have read their logits
  return read_statistics(whole);
}

template <typename T>
__global__ void __launch_bounds__(kGroupThreads) loss_and_gradient(Logits<T> logits, Loss a) {
  const int64_t row = blockIdx.x;
  const bool counts = logits.target(row) >= 0;
  const SoftmaxRow<float> merged = counts ? whole_row(logits, a, row) : SoftmaxRow<float>{};
  if (threadIdx.x == 0) {
    a.nll[row] = counts ? negative_log_likelihood(merged) : 0.0f;
    a.loss[row] = counts ? smoothed_cross_entropy(merged, a.smoothing) : 0.0f;
  }
  if (a.backward) write_gradient(logits, a, row, merged);
}

}  // namespace

void softmax_stats(Context& ctx, const ops::SoftmaxStats& a) {
  for_storage(a.logits.dtype, [&](auto zero) {
    using T = decltype(zero);
    launch(ctx, "softmax_stats", row_statistics<T>, static_cast<unsigned>(a.logits.rows()), threads_of_row(a.valid), 0,
           logits_of<T>(a), a.stats.ptr<float>());
  });
}

void cross_entropy(Context& ctx, const ops::CrossEntropy& a) {
  const bool whole = a.stats.empty();
  const Loss loss{.stats = vector_of(a.stats),
                  .ranks = whole ? 1 : a.stats.dim(0),
                  .rows = a.logits.rows(),
                  .smoothing = LabelSmoothing<float>(a.smoothing, a.vocabulary),
                  .backward = a.backward,
                  .scalars = a.scalars,
                  .loss = vector_of(a.loss),
                  .nll = vector_of(a.nll)};
  for_storage(a.logits.dtype, [&](auto zero) {
    using T = decltype(zero);
    launch(ctx, "cross_entropy", loss_and_gradient<T>, static_cast<unsigned>(a.logits.rows()),
           threads_of_row(whole        ? a.valid
                          : a.backward ? a.logits.cols()
                                       : 1),
           0, logits_of<T>(a), loss);
  });
}

}  // namespace weft::cuda
