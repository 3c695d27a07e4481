// tensor/cpu/cross_entropy.cpp: statistics of rows of logits, and loss and gradient from them.
#include <algorithm>
#include <limits>

#include "tensor/cpu/runtime.h"
#include "tensor/math.h"
#include "tensor/ops.h"

namespace weft::cpu {

namespace {

struct RowSums {
  float sum_exp, sum_logits;
};

float row_max(const float* x, int64_t n) {
  float max = -std::numeric_limits<float>::infinity();
#pragma omp simd reduction(max : max)
  for (int64_t c = 0; c < n; ++c) max = x[c] > max ? x[c] : max;
  return max;
}

RowSums row_sums(const float* x, int64_t n, float max) {
  float sum_exp = 0, sum_logits = 0;
#pragma omp simd reduction(+ : sum_exp, sum_logits)
  for (int64_t c = 0; c < n; ++c) {
    sum_exp += exp_of(x[c] - max);
    sum_logits += x[c];
  }
  return {sum_exp, sum_logits};
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

}  // namespace

void softmax_stats(Context&, const ops::SoftmaxStats& a) {
  const int64_t rows = a.logits.rows();
#pragma omp parallel for schedule(static) if (rows * a.valid >= kWorthThreads)
  for (int64_t r = 0; r < rows; ++r) {
    const float* logits = a.logits.ptr<float>() + r * a.logits.row_stride;
    const float max = row_max(logits, a.valid);
    const RowSums sums = row_sums(logits, a.valid, max);
    const int64_t target = a.targets.empty() ? -1 : a.targets.ptr<int32_t>()[r];
    const int64_t local = target - a.first_id;
    const bool here = target >= 0 && local >= 0 && local < a.valid;
    float* stats = a.stats.ptr<float>() + r * 4;
    stats[0] = max;
    stats[1] = sums.sum_exp;
    stats[2] = sums.sum_logits;
    stats[3] = here ? logits[local] : 0.0f;
  }
}

void cross_entropy(Context&, const ops::CrossEntropy& a) {
  const int64_t rows = a.logits.rows(), cols = a.logits.cols();
  const LabelSmoothing<float> smoothing(a.smoothing, a.vocabulary);
#pragma omp parallel for schedule(static) if (rows * cols >= kWorthThreads)
  for (int64_t r = 0; r < rows; ++r) {
    float* logits = a.logits.ptr<float>() + r * a.logits.row_stride;
    const int64_t target = a.targets.ptr<int32_t>()[r], local = target - a.first_id;
    if (target < 0) {
      a.loss.ptr<float>()[r] = a.nll.ptr<float>()[r] = 0;
      if (a.backward) std::fill_n(logits, cols, 0.0f);
      continue;
    }
    const SoftmaxRow<float> row = merged_row(a.stats, r);
    a.nll.ptr<float>()[r] = negative_log_likelihood(row);
    a.loss.ptr<float>()[r] = smoothed_cross_entropy(row, smoothing);
    if (!a.backward) continue;

    const float inverse_sum = 1.0f / row.sum_exp, max = row.max, scale = a.grad_scale, elsewhere = smoothing.elsewhere;
    const bool here = local >= 0 && local < a.valid;
    const float target_logit = here ? logits[local] : 0.0f;
#pragma omp simd
    for (int64_t c = 0; c < a.valid; ++c) {
      logits[c] = scale * cross_entropy_gradient(logits[c], max, inverse_sum, elsewhere);
    }
    if (here) logits[local] = scale * cross_entropy_gradient(target_logit, max, inverse_sum, smoothing.on_target);
    std::fill(logits + a.valid, logits + cols, 0.0f);
  }
}

}  // namespace weft::cpu
