// tensor/cuda/loss/cross_entropy.cu: computes softmax statistics of rows of logits, and from them loss and gradient.
// One block processes a row. Its threads keep logits in registers, so a row is read once and written once. Rows that do
// not fit into registers, or are not aligned, are read again from the cache.
#include <cstring>
#include <limits>
#include <type_traits>

#include "tensor/cuda/exponential.cuh"
#include "tensor/cuda/groups.cuh"
#include "tensor/math.h"
#include "tensor/ops.h"

namespace weft::cuda {

namespace {

// Merges the statistics of a warp's lanes, except targets. All lanes get the result, equal up to rounding.
__device__ SoftmaxRow<float> warp_merge(SoftmaxRow<float> row) {
  for (int offset = kWarp / 2; offset > 0; offset /= 2) {
    const SoftmaxRow<float> other{__shfl_xor_sync(0xFFFFFFFFu, row.max, offset),
                                  __shfl_xor_sync(0xFFFFFFFFu, row.sum_exp, offset),
                                  __shfl_xor_sync(0xFFFFFFFFu, row.sum_logits, offset), 0};
    row = merge(row, other);
  }
  return row;
}

// Merges the statistics of a block. Its first warp gets the result. `parts` is shared memory, three values per warp.
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
  const int32_t* targets;  // may be null
  __device__ int64_t target(int64_t row) const { return targets != nullptr ? targets[row] : -1; }
  // Returns the target's column, or -1 if the target is on another rank.
  __device__ int64_t target_column(int64_t row) const {
    const int64_t id = target(row), local = id - first_id;
    return id >= 0 && local >= 0 && local < valid ? local : -1;
  }
};
template <typename T, typename Arguments>
Logits<T> logits_of(const Arguments& a) {
  return {rows_of<T>(a.logits), a.logits.cols(), a.valid, a.first_id, vector_of<int32_t>(a.targets)};
}

constexpr int kRowThreads = 512;  // max threads per block
constexpr int kParts = 3 * kRowThreads / kWarp;

// Eight logits in registers, as words, so that half precision needs half as many registers.
template <typename T>
struct HeldGroup {
  static constexpr int kPackets = kGroup / Packet<T>::kSize;
  uint4 words[kPackets];

  __device__ void load_from(const T* from) {
    for (int p = 0; p < kPackets; ++p) words[p] = reinterpret_cast<const uint4*>(from)[p];
  }
  __device__ void widen(float (&x)[kGroup]) const {
    T stored[kGroup];
    std::memcpy(stored, words, sizeof words);
    for (int i = 0; i < kGroup; ++i) x[i] = to_float(stored[i]);
  }
};

// The groups of a row's valid logits that a thread processes: every blockDim.x-th group. A thread holds up to kHeld
// groups in registers, which requires rows aligned to 16 bytes. If kHeld = 0, a thread may have any number of groups,
// and each pass reads them again.
template <typename T, int kHeld>
class OwnLogits {
 public:
  __device__ OwnLogits(const T* row, int64_t valid) : row_(row), valid_(static_cast<int>(valid)) {
#pragma unroll
    for (int k = 0; k < kHeld; ++k)
      if (column(k) + kGroup <= valid_) held_[k].load_from(row + column(k));
  }

  // Calls f(column, logits, count) for each group, of which `count` logits are valid. If kHeld > 0, `count` is a
  // constant, and each logit after the row's last full group is a group of its own.
  template <typename F>
  __device__ void for_each(const F& f) const {
    float x[kGroup];
    if constexpr (kHeld == 0) {
      for (int k = 0; column(k) < valid_; ++k) {
        load(row_ + column(k), valid_ - column(k), x);
        f(column(k), x, valid_ - column(k) < kGroup ? valid_ - column(k) : kGroup);
      }
    } else {
#pragma unroll
      for (int k = 0; k < kHeld; ++k) {
        if (column(k) + kGroup > valid_) continue;
        held_[k].widen(x);
        f(column(k), x, std::integral_constant<int, kGroup>());
      }
      if (const int col = valid_ / kGroup * kGroup + static_cast<int>(threadIdx.x); col < valid_) {
        x[0] = to_float(row_[col]);
        f(col, x, std::integral_constant<int, 1>());
      }
    }
  }

  // Returns the thread's part of the row's statistics, without the target. A logit of -infinity adds nothing, even if
  // it is the only logit. NaN propagates.
  __device__ SoftmaxRow<float> statistics() const {
    SoftmaxRow<float> sums;
    for_each([&](int, const float(&x)[kGroup], auto count) {
      for (int i = 0; i < count; ++i) sums.max = fmaxf(sums.max, x[i]);
    });
    const float base = sums.max == -std::numeric_limits<float>::infinity() ? 0.0f : sums.max;
    for_each([&](int, const float(&x)[kGroup], auto count) {
      for (int i = 0; i < count; ++i) {
        sums.sum_exp += exp_for<T>(x[i] - base);
        sums.sum_logits += x[i];
      }
    });
    return sums;
  }

 private:
  __device__ static int column(int k) {
    return (k * static_cast<int>(blockDim.x) + static_cast<int>(threadIdx.x)) * kGroup;
  }

  const T* row_;
  int valid_;
  HeldGroup<T> held_[kHeld > 0 ? kHeld : 1];
};

// Computes the statistics of one row with all threads of the block. Only thread 0 gets the result.
template <typename T, int kHeld>
__device__ SoftmaxRow<float> statistics_of(const Logits<T>& logits, int64_t row, const OwnLogits<T, kHeld>& own,
                                           float* parts) {
  SoftmaxRow<float> sums = block_merge(own.statistics(), parts);
  const int64_t target = logits.target_column(row);
  if (threadIdx.x == 0 && target >= 0) sums.target = to_float(logits.rows[row][target]);
  return sums;
}

__device__ void write_statistics(const SoftmaxRow<float>& row, float* stats) {
  stats[0] = row.max;
  stats[1] = row.sum_exp;
  stats[2] = row.sum_logits;
  stats[3] = row.target;
}
__device__ SoftmaxRow<float> read_statistics(const float* stats) { return {stats[0], stats[1], stats[2], stats[3]}; }

template <typename T, int kHeld>
__global__ void __launch_bounds__(kRowThreads) row_statistics(Logits<T> logits, float* stats) {
  __shared__ float parts[kParts];
  const int64_t row = blockIdx.x;
  const OwnLogits<T, kHeld> own(logits.rows[row], logits.valid);
  const SoftmaxRow<float> found = statistics_of(logits, row, own, parts);
  if (threadIdx.x == 0) write_statistics(found, stats + row * 4);
}

struct Loss {
  const float* stats;    // [ranks, rows, 4]?
  const float* weights;  // [rows]?
  int64_t ranks, rows;
  LabelSmoothing<float> smoothing;
  bool backward;
  const StepScalars* scalars;
  float *loss, *nll;

  __device__ float weight(int64_t row) const { return weights != nullptr ? weights[row] : 1.0f; }
  __device__ SoftmaxRow<float> merged_row(int64_t row) const {
    SoftmaxRow<float> merged;
    for (int64_t rank = 0; rank < ranks; ++rank)
      merged = merge(merged, read_statistics(stats + (rank * rows + row) * 4));
    return merged;
  }
};

// Overwrites a row's logits with the gradient, and padding columns with 0.
template <typename T, int kHeld>
__device__ void write_gradient(const Logits<T>& logits, const Loss& a, int64_t row, const OwnLogits<T, kHeld>& own,
                               const SoftmaxRow<float>& merged) {
  T* const to = logits.rows[row];
  const int valid = static_cast<int>(logits.valid), cols = static_cast<int>(logits.cols);
  const int target = static_cast<int>(logits.target_column(row));
  const float scale = a.scalars->loss_scale * a.weight(row), scaled_inverse = scale / merged.sum_exp;
  const float elsewhere = scale * a.smoothing.elsewhere, on_target = scale * a.smoothing.on_target;
  own.for_each([&](int col, const float(&x)[kGroup], auto count) {
    float d[kGroup] = {};
    for (int i = 0; i < count; ++i) d[i] = scaled_inverse * exp_for<T>(x[i] - merged.max) - elsewhere;
    if (col <= target && target < col + count)
      for (int i = 0; i < kGroup; ++i) d[i] -= col + i == target ? on_target - elsewhere : 0.0f;
    if constexpr (kHeld > 0 && count == kGroup)
      store_aligned(d, to + col);
    else
      store(d, to + col, count);
  });
  for (int col = valid + static_cast<int>(threadIdx.x); col < cols; col += static_cast<int>(blockDim.x))
    to[col] = from_float<T>(0.0f);
}

template <typename T>
__device__ void write_zeros(const Logits<T>& logits, int64_t row) {
  const float zeros[kGroup] = {};
  for (int64_t col = threadIdx.x * kGroup; col < logits.cols; col += blockDim.x * kGroup)
    store(zeros, logits.rows[row] + col, logits.cols - col);
}

// Returns a row's statistics on every thread. If ranks split the row, each thread merges the statistics of all ranks.
template <typename T, int kHeld>
__device__ SoftmaxRow<float> whole_row(const Logits<T>& logits, const Loss& a, int64_t row,
                                       const OwnLogits<T, kHeld>& own) {
  __shared__ float parts[kParts], whole[4];
  if (a.stats != nullptr) return a.merged_row(row);
  const SoftmaxRow<float> found = statistics_of(logits, row, own, parts);
  if (threadIdx.x == 0) write_statistics(found, whole);
  __syncthreads();  // no thread writes a gradient before all have read their logits
  return read_statistics(whole);
}

template <typename T, int kHeld>
__global__ void __launch_bounds__(kRowThreads, 2) loss_and_gradient(Logits<T> logits, Loss a) {
  const int64_t row = blockIdx.x;
  if (logits.target(row) < 0) {
    if (threadIdx.x == 0) a.nll[row] = a.loss[row] = 0.0f;
    if (a.backward) write_zeros(logits, row);
    return;
  }
  const OwnLogits<T, kHeld> own(logits.rows[row], logits.valid);
  const SoftmaxRow<float> merged = whole_row(logits, a, row, own);
  if (threadIdx.x == 0) {
    a.nll[row] = a.weight(row) * negative_log_likelihood(merged);
    a.loss[row] = a.weight(row) * smoothed_cross_entropy(merged, a.smoothing);
  }
  if (a.backward) write_gradient(logits, a, row, own, merged);
}

// Calls f with kHeld, the number of a row's groups for which a thread has registers.
template <typename T, typename F>
void for_row_width(const Tensor& logits, int64_t valid, const F& f) {
  const bool aligned = reinterpret_cast<uintptr_t>(logits.data) % 16 == 0 &&
                       logits.row_stride * static_cast<int64_t>(sizeof(T)) % 16 == 0;
  const auto holds = [&](int64_t groups) { return aligned && valid <= groups * kRowThreads * kGroup; };
  constexpr int kFew = 2, kMaxHeld = 8;
  if (holds(kFew)) return f(std::integral_constant<int, kFew>());
  if (holds(kMaxHeld)) return f(std::integral_constant<int, kMaxHeld>());
  f(std::integral_constant<int, 0>());
}

}  // namespace

void softmax_stats(Context& ctx, const ops::SoftmaxStats& a) {
  for_storage(a.logits.dtype, [&](auto zero) {
    using T = decltype(zero);
    for_row_width<T>(a.logits, a.valid, [&](auto held) {
      launch(ctx, "softmax_stats", row_statistics<T, held()>, static_cast<unsigned>(a.logits.rows()),
             threads_of_row(a.valid, kRowThreads), 0, logits_of<T>(a), a.stats.ptr<float>());
    });
  });
}

void cross_entropy(Context& ctx, const ops::CrossEntropy& a) {
  const bool whole = a.stats.empty();
  const Loss loss{.stats = vector_of(a.stats),
                  .weights = vector_of(a.weights),
                  .ranks = whole ? 1 : a.stats.dim(0),
                  .rows = a.logits.rows(),
                  .smoothing = LabelSmoothing<float>(a.smoothing, a.vocabulary),
                  .backward = a.backward,
                  .scalars = a.scalars,
                  .loss = vector_of(a.loss),
                  .nll = vector_of(a.nll)};
  for_storage(a.logits.dtype, [&](auto zero) {
    using T = decltype(zero);
    for_row_width<T>(a.logits, a.valid, [&](auto held) {
      launch(ctx, "cross_entropy", loss_and_gradient<T, held()>, static_cast<unsigned>(a.logits.rows()),
             threads_of_row(a.valid, kRowThreads), 0, logits_of<T>(a), loss);
    });
  });
}

}  // namespace weft::cuda
