// tensor/cpu/cross_entropy.cpp: computes softmax statistics of rows of logits, and from them loss and gradient. If the
// vocabulary is not split, a row is finished while it is in the cache.
#include <algorithm>

#include "tensor/cpu/logits.h"
#include "tensor/math.h"
#include "tensor/ops.h"

namespace weft::cpu {

namespace {

struct RowSums {
  float sum_exp = 0, sum_logits = 0;
};

template <typename T>
RowSums row_sums(const T* x, int64_t n, float max) {
  float exps[kPiece] = {}, logits[kPiece] = {};
  for_each_piece(x, n, [&](int64_t begin, int64_t count) {
#pragma omp simd
    for (int64_t c = 0; c < count; ++c) {
      const float v = to_float(x[begin + c]);
      exps[c] += exp_of(v - max);
      logits[c] += v;
    }
  });
  RowSums sums;
  for (float e : exps) sums.sum_exp += e;
  for (float l : logits) sums.sum_logits += l;
  return sums;
}

template <typename T>
void gradient_row(T* logits, int64_t n, const SoftmaxRow<float>& row, float wanted, float scale) {
  const float inverse_sum = 1.0f / row.sum_exp, max = row.max;
  for_each_piece(logits, n, [&](int64_t begin, int64_t count) {
    T* x = logits + begin;
#pragma omp simd
    for (int64_t c = 0; c < count; ++c)
      x[c] = from_float<T>(scale * cross_entropy_gradient(to_float(x[c]), max, inverse_sum, wanted));
  });
}

// Returns the statistics of this rank's columns. target_column is negative if the target's column is on another rank.
template <typename T>
SoftmaxRow<float> row_statistics(const T* logits, int64_t n, int64_t target_column) {
  const float max = row_max(logits, n);
  const RowSums sums = row_sums(logits, n, max);
  return {max, sums.sum_exp, sums.sum_logits, target_column >= 0 ? to_float(logits[target_column]) : 0.0f};
}

SoftmaxRow<float> merged_row(const Tensor& stats, int64_t r) {  // [ranks, R, 4]
  const int64_t ranks = stats.dim(0), rows = stats.dim(1);
  SoftmaxRow<float> row;
  for (int64_t rank = 0; rank < ranks; ++rank) {
    const float* s = stats.ptr<float>() + (rank * rows + r) * 4;
    row = merge(row, SoftmaxRow<float>{s[0], s[1], s[2], s[3]});
  }
  return row;
}

template <typename T>
void statistics(const ops::SoftmaxStats& a) {
  const int64_t rows = a.logits.rows();
#pragma omp parallel for schedule(static) if (rows * a.valid >= kWorthThreads)
  for (int64_t r = 0; r < rows; ++r) {
    const T* logits = a.logits.ptr<T>() + r * a.logits.row_stride;
    const int64_t target = a.targets.empty() ? -1 : a.targets.ptr<int32_t>()[r];
    const SoftmaxRow<float> row = row_statistics(logits, a.valid, column_of(target, a.first_id, a.valid));
    float* stats = a.stats.ptr<float>() + r * 4;
    stats[0] = row.max;
    stats[1] = row.sum_exp;
    stats[2] = row.sum_logits;
    stats[3] = row.target;
  }
}

template <typename T>
void loss_and_gradient(const ops::CrossEntropy& a) {
  const int64_t rows = a.logits.rows(), cols = a.logits.cols();
  const LabelSmoothing<float> smoothing(a.smoothing, a.vocabulary);
  const float loss_scale = a.backward ? a.scalars->loss_scale : 0.0f;
#pragma omp parallel for schedule(static) if (rows * cols >= kWorthThreads)
  for (int64_t r = 0; r < rows; ++r) {
    T* logits = a.logits.ptr<T>() + r * a.logits.row_stride;
    const int64_t target = a.targets.ptr<int32_t>()[r], local = column_of(target, a.first_id, a.valid);
    if (target < 0) {
      a.loss.ptr<float>()[r] = a.nll.ptr<float>()[r] = 0;
      if (a.backward) std::fill_n(logits, cols, T{});
      continue;
    }
    const SoftmaxRow<float> row = a.stats.empty() ? row_statistics(logits, a.valid, local) : merged_row(a.stats, r);
    const float weight = a.weights.empty() ? 1.0f : a.weights.ptr<float>()[r], scale = weight * loss_scale;
    a.nll.ptr<float>()[r] = weight * negative_log_likelihood(row);
    a.loss.ptr<float>()[r] = weight * smoothed_cross_entropy(row, smoothing);
    if (!a.backward) continue;

    const bool here = local >= 0;
    const float target_logit = here ? to_float(logits[local]) : 0.0f;
    gradient_row(logits, a.valid, row, smoothing.elsewhere, scale);
    if (here) {
      logits[local] =
          from_float<T>(scale * cross_entropy_gradient(target_logit, row.max, 1.0f / row.sum_exp, smoothing.on_target));
    }
    std::fill(logits + a.valid, logits + cols, T{});
  }
}

}  // namespace

void softmax_stats(Context&, const ops::SoftmaxStats& a) {
  for_storage(a.logits.dtype, [&](auto zero) { statistics<decltype(zero)>(a); });
}

void cross_entropy(Context&, const ops::CrossEntropy& a) {
  for_storage(a.logits.dtype, [&](auto zero) { loss_and_gradient<decltype(zero)>(a); });
}

}  // namespace weft::cpu
