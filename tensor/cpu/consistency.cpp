// tensor/cpu/consistency.cpp: computes the loss of two passes and the divergence between them, with its gradients.
#include <algorithm>

#include "tensor/cpu/logits.h"
#include "tensor/math.h"
#include "tensor/ops.h"

namespace weft::cpu {

namespace {

// The same row of both passes. Only the first `valid` columns are real.
template <typename T>
struct RowPair {
  T *p, *q;
  int64_t valid, target_column;  // the column is negative if the target is on another rank
};
template <typename T>
RowPair<T> row_pair(const auto& a, int64_t r) {
  return {a.logits_p.template ptr<T>() + r * a.logits_p.row_stride,
          a.logits_q.template ptr<T>() + r * a.logits_q.row_stride, a.valid,
          column_of(a.targets.template ptr<int32_t>()[r], a.first_id, a.valid)};
}

template <typename T>
SoftmaxRow<float> without_sums(const T* x, const RowPair<T>& row) {
  return {.max = row_max(x, row.valid), .target = row.target_column >= 0 ? to_float(x[row.target_column]) : 0.0f};
}

float total(const float (&lanes)[kPiece]) {
  float sum = 0;
  for (float lane : lanes) sum += lane;
  return sum;
}

template <typename T>
SoftmaxPair<float> pair_statistics(const RowPair<T>& row) {
  SoftmaxPair<float> pair{without_sums(row.p, row), without_sums(row.q, row)};
  const float max_p = pair.p.max, max_q = pair.q.max;
  float exp_p[kPiece] = {}, exp_q[kPiece] = {}, sum_p[kPiece] = {}, sum_q[kPiece] = {};
  float p_minus_q[kPiece] = {}, q_minus_p[kPiece] = {};
  for_each_piece(row.p, row.valid, [&](int64_t begin, int64_t count) {
#pragma omp simd
    for (int64_t c = 0; c < count; ++c) {
      const float x = to_float(row.p[begin + c]), y = to_float(row.q[begin + c]);
      const float p = exp_of(x - max_p), q = exp_of(y - max_q);
      exp_p[c] += p, exp_q[c] += q;
      sum_p[c] += x, sum_q[c] += y;
      p_minus_q[c] += p * (x - y), q_minus_p[c] += q * (y - x);
    }
  });
  pair.p.sum_exp = total(exp_p), pair.p.sum_logits = total(sum_p);
  pair.q.sum_exp = total(exp_q), pair.q.sum_logits = total(sum_q);
  pair.p_minus_q = total(p_minus_q), pair.q_minus_p = total(q_minus_p);
  return pair;
}

void write(const SoftmaxPair<float>& pair, float* to) {
  for (const SoftmaxRow<float>& row : {pair.p, pair.q})
    for (float value : {row.max, row.sum_exp, row.sum_logits, row.target}) *to++ = value;
  *to++ = pair.p_minus_q;
  *to = pair.q_minus_p;
}

SoftmaxPair<float> merged_pair(const Tensor& stats, int64_t r) {  // [ranks, R, kPairStats]
  SoftmaxPair<float> pair;
  for (int64_t rank = 0; rank < stats.dim(0); ++rank) {
    const float* s = stats.ptr<float>() + (rank * stats.dim(1) + r) * ops::kPairStats;
    pair = merge(pair, SoftmaxPair<float>{{s[0], s[1], s[2], s[3]}, {s[4], s[5], s[6], s[7]}, s[8], s[9]});
  }
  return pair;
}

template <typename T>
void statistics(const ops::ConsistencyStats& a) {
  const int64_t rows = a.logits_p.rows();
#pragma omp parallel for schedule(static) if (rows * a.valid >= kWorthThreads)
  for (int64_t r = 0; r < rows; ++r)
    write(pair_statistics(row_pair<T>(a, r)), a.stats.ptr<float>() + r * ops::kPairStats);
}

template <typename T>
void write_gradients(const RowPair<T>& row, const PairDivergence<float>& d, const ops::ConsistencyLoss& a,
                     float scale) {
  const LabelSmoothing<float> smoothing(a.smoothing, a.vocabulary);
  const ops::ConsistencyFactors f = a.factors;
  const int64_t target = row.target_column;
  float x_target = target >= 0 ? to_float(row.p[target]) : 0, y_target = target >= 0 ? to_float(row.q[target]) : 0;
  for_each_piece(row.p, row.valid, [&](int64_t begin, int64_t count) {
    T *p = row.p + begin, *q = row.q + begin;
#pragma omp simd
    for (int64_t c = 0; c < count; ++c) {
      float x = to_float(p[c]), y = to_float(q[c]);
      consistency_gradient(d, f, smoothing.elsewhere, x, y);
      p[c] = from_float<T>(scale * x), q[c] = from_float<T>(scale * y);
    }
  });
  if (target < 0) return;
  consistency_gradient(d, f, smoothing.on_target, x_target, y_target);
  row.p[target] = from_float<T>(scale * x_target), row.q[target] = from_float<T>(scale * y_target);
}

template <typename T>
void loss_and_gradients(const ops::ConsistencyLoss& a) {
  const int64_t rows = a.logits_p.rows(), cols = a.logits_p.cols();
#pragma omp parallel for schedule(static) if (rows * cols >= kWorthThreads)
  for (int64_t r = 0; r < rows; ++r) {
    const RowPair<T> row = row_pair<T>(a, r);
    const bool has_target = a.targets.ptr<int32_t>()[r] >= 0;
    const float weight = a.weights.empty() ? 1.0f : a.weights.ptr<float>()[r];
    ConsistencyRow<float> losses{};
    if (has_target) {
      const SoftmaxPair<float> pair = merged_pair(a.stats, r);
      const PairDivergence<float> d(pair);
      losses = consistency_losses(pair, d, a.factors, LabelSmoothing<float>(a.smoothing, a.vocabulary));
      write_gradients(row, d, a, weight * a.scalars->loss_scale);
    }
    a.loss.ptr<float>()[r] = weight * losses.loss;
    a.nll.ptr<float>()[r] = weight * losses.nll;
    a.divergence.ptr<float>()[r] = weight * losses.divergence;
    const int64_t kept = has_target ? a.valid : 0;
    std::fill(row.p + kept, row.p + cols, T{});
    std::fill(row.q + kept, row.q + cols, T{});
  }
}

}  // namespace

void consistency_stats(Context&, const ops::ConsistencyStats& a) {
  for_storage(a.logits_p.dtype, [&](auto zero) { statistics<decltype(zero)>(a); });
}

void consistency_loss(Context&, const ops::ConsistencyLoss& a) {
  for_storage(a.logits_p.dtype, [&](auto zero) { loss_and_gradients<decltype(zero)>(a); });
}

}  // namespace weft::cpu
