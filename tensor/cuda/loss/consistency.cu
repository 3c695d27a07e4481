// tensor/cuda/loss/consistency.cu: computes the loss of two passes and the divergence between them, with its gradients.
// One block processes a row of both passes. It reads the rows' logits three times; after the first time, they are in
// the L2 cache.
#include <limits>

#include "tensor/cuda/groups.cuh"
#include "tensor/math.h"
#include "tensor/ops.h"

namespace weft::cuda {

namespace {

constexpr int kRowThreads = 512;  // max threads per block
constexpr int kSums = 8;          // numbers of a pair's statistics without targets

template <typename T>
struct LogitPairs {
  Rows<T> p, q;
  int64_t cols, valid, first_id;
  const int32_t* targets;

  // Returns the target's column, or -1 if there is no target or it is on another rank.
  __device__ int64_t target_column(int64_t row) const {
    const int64_t id = targets[row], local = id - first_id;
    return id >= 0 && local >= 0 && local < valid ? local : -1;
  }
  // Calls f(column, logits of p, logits of q, count) for each group of the row that this thread processes.
  template <typename F>
  __device__ void for_each_group(int64_t row, const F& f) const {
    float x[kGroup], y[kGroup];
    for (int64_t col = threadIdx.x * kGroup; col < valid; col += blockDim.x * kGroup) {
      const int64_t left = valid - col;
      load(p[row] + col, left, x);
      load(q[row] + col, left, y);
      f(col, x, y, left < kGroup ? static_cast<int>(left) : kGroup);
    }
  }
};
template <typename T, typename Arguments>
LogitPairs<T> pairs_of(const Arguments& a) {
  return {rows_of<T>(a.logits_p),       rows_of<T>(a.logits_q), a.logits_p.cols(), a.valid, a.first_id,
          vector_of<int32_t>(a.targets)};
}

__device__ SoftmaxPair<float> pair_from(const float (&s)[kSums]) {
  return {{s[0], s[1], s[2], 0}, {s[3], s[4], s[5], 0}, s[6], s[7]};
}
__device__ void to_sums(const SoftmaxPair<float>& pair, float (&s)[kSums]) {
  s[0] = pair.p.max, s[1] = pair.p.sum_exp, s[2] = pair.p.sum_logits;
  s[3] = pair.q.max, s[4] = pair.q.sum_exp, s[5] = pair.q.sum_logits;
  s[6] = pair.p_minus_q, s[7] = pair.q_minus_p;
}

// Merges the statistics of a warp's lanes, except targets. All lanes get the result, equal up to rounding.
__device__ SoftmaxPair<float> warp_merge(SoftmaxPair<float> pair) {
  for (int offset = kWarp / 2; offset > 0; offset /= 2) {
    float own[kSums], other[kSums];
    to_sums(pair, own);
    for (int i = 0; i < kSums; ++i) other[i] = __shfl_xor_sync(0xFFFFFFFFu, own[i], offset);
    pair = merge(pair, pair_from(other));
  }
  return pair;
}

// Merges the statistics of a block. Its first warp gets the result. `parts` is shared memory.
__device__ SoftmaxPair<float> block_merge(SoftmaxPair<float> pair, float (*parts)[kSums]) {
  const unsigned lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
  pair = warp_merge(pair);
  if (lane == 0) to_sums(pair, parts[warp]);
  __syncthreads();
  if (warp != 0) return pair;
  pair = {};
  if (lane < blockDim.x / kWarp) pair = pair_from(parts[lane]);
  return warp_merge(pair);
}

// Returns the thread's part of the row's statistics, without targets. NaN propagates.
template <typename T>
__device__ SoftmaxPair<float> own_statistics(const LogitPairs<T>& logits, int64_t row) {
  SoftmaxPair<float> sums;
  logits.for_each_group(row, [&](int64_t, const float(&x)[kGroup], const float(&y)[kGroup], int count) {
    for (int i = 0; i < count; ++i) sums.p.max = fmaxf(sums.p.max, x[i]), sums.q.max = fmaxf(sums.q.max, y[i]);
  });
  logits.for_each_group(row, [&](int64_t, const float(&x)[kGroup], const float(&y)[kGroup], int count) {
    for (int i = 0; i < count; ++i) {
      const float p = exp_of(x[i] - sums.p.max), q = exp_of(y[i] - sums.q.max);
      sums.p.sum_exp += p, sums.q.sum_exp += q;
      sums.p.sum_logits += x[i], sums.q.sum_logits += y[i];
      sums.p_minus_q += p * (x[i] - y[i]), sums.q_minus_p += q * (y[i] - x[i]);
    }
  });
  return sums;
}

template <typename T>
__global__ void __launch_bounds__(kRowThreads) pair_statistics(LogitPairs<T> logits, float* stats) {
  __shared__ float parts[kRowThreads / kWarp][kSums];
  const int64_t row = blockIdx.x;
  const SoftmaxPair<float> sums = block_merge(own_statistics(logits, row), parts);
  if (threadIdx.x != 0) return;
  const int64_t target = logits.target_column(row);
  float* const to = stats + row * ops::kPairStats;
  to[0] = sums.p.max, to[1] = sums.p.sum_exp, to[2] = sums.p.sum_logits;
  to[3] = target >= 0 ? to_float(logits.p[row][target]) : 0.0f;
  to[4] = sums.q.max, to[5] = sums.q.sum_exp, to[6] = sums.q.sum_logits;
  to[7] = target >= 0 ? to_float(logits.q[row][target]) : 0.0f;
  to[8] = sums.p_minus_q, to[9] = sums.q_minus_p;
}

struct PairLosses {
  const float* stats;    // [ranks, rows, kPairStats]
  const float* weights;  // [rows]?
  int64_t ranks, rows;
  LabelSmoothing<float> smoothing;
  ops::ConsistencyFactors factors;
  const StepScalars* scalars;
  float *loss, *nll, *divergence;

  __device__ float weight(int64_t row) const { return weights != nullptr ? weights[row] : 1.0f; }
  __device__ SoftmaxPair<float> merged(int64_t row) const {
    SoftmaxPair<float> pair;
    for (int64_t rank = 0; rank < ranks; ++rank) {
      const float* s = stats + (rank * rows + row) * ops::kPairStats;
      pair = merge(pair, SoftmaxPair<float>{{s[0], s[1], s[2], s[3]}, {s[4], s[5], s[6], s[7]}, s[8], s[9]});
    }
    return pair;
  }
  __device__ void write(int64_t row, const ConsistencyRow<float>& of_row) const {
    loss[row] = weight(row) * of_row.loss;
    nll[row] = weight(row) * of_row.nll;
    divergence[row] = weight(row) * of_row.divergence;
  }
};

// Overwrites the columns of a row from `begin` on with 0.
template <typename T>
__device__ void write_zeros(T* row, int64_t begin, int64_t cols) {
  for (int64_t col = begin + threadIdx.x; col < cols; col += blockDim.x) row[col] = from_float<T>(0.0f);
}

template <typename T>
__global__ void __launch_bounds__(kRowThreads, 2) losses_and_gradients(LogitPairs<T> logits, PairLosses a) {
  const int64_t row = blockIdx.x;
  const bool has_target = logits.targets[row] >= 0;
  const int64_t kept = has_target ? logits.valid : 0;
  write_zeros(logits.p[row], kept, logits.cols);
  write_zeros(logits.q[row], kept, logits.cols);
  if (!has_target) {
    if (threadIdx.x == 0) a.write(row, {});
    return;
  }
  const SoftmaxPair<float> pair = a.merged(row);
  const PairDivergence<float> d(pair);
  if (threadIdx.x == 0) a.write(row, consistency_losses(pair, d, a.factors, a.smoothing));
  const float scale = a.scalars->loss_scale * a.weight(row);
  const int64_t target = logits.target_column(row);
  logits.for_each_group(row, [&](int64_t col, float(&x)[kGroup], float(&y)[kGroup], int count) {
    for (int i = 0; i < count; ++i) {
      const float wanted = col + i == target ? a.smoothing.on_target : a.smoothing.elsewhere;
      consistency_gradient(d, a.factors, wanted, x[i], y[i]);
      x[i] *= scale, y[i] *= scale;
    }
    store(x, logits.p[row] + col, count);
    store(y, logits.q[row] + col, count);
  });
}

}  // namespace

void consistency_stats(Context& ctx, const ops::ConsistencyStats& a) {
  for_storage(a.logits_p.dtype, [&](auto zero) {
    using T = decltype(zero);
    launch(ctx, "consistency_stats", pair_statistics<T>, static_cast<unsigned>(a.logits_p.rows()),
           threads_of_row(a.valid, kRowThreads), 0, pairs_of<T>(a), a.stats.ptr<float>());
  });
}

void consistency_loss(Context& ctx, const ops::ConsistencyLoss& a) {
  const PairLosses losses{.stats = vector_of(a.stats),
                          .weights = vector_of(a.weights),
                          .ranks = a.stats.dim(0),
                          .rows = a.logits_p.rows(),
                          .smoothing = LabelSmoothing<float>(a.smoothing, a.vocabulary),
                          .factors = a.factors,
                          .scalars = a.scalars,
                          .loss = vector_of(a.loss),
                          .nll = vector_of(a.nll),
                          .divergence = vector_of(a.divergence)};
  for_storage(a.logits_p.dtype, [&](auto zero) {
    using T = decltype(zero);
    launch(ctx, "consistency_loss", losses_and_gradients<T>, static_cast<unsigned>(a.logits_p.rows()),
           threads_of_row(a.valid, kRowThreads), 0, pairs_of<T>(a), losses);
  });
}

}  // namespace weft::cuda
