// tensor/cpu/attention/weights.cpp: computes attention probabilities from queries, keys and the saved log-sum-exp. A
// task is one sentence, whose output rows no other task writes.
#include "tensor/cpu/attention/attention.h"
#include "tensor/math.h"

namespace weft::cpu {
namespace {

template <typename T>
void add_head(const ops::AttentionWeights& a, int64_t head, Rows q, Rows k) {
  const int64_t size = a.q.cols() / a.heads, col = head * size, k_col = head / group_size(a) * size;
  for (int64_t i = q.begin; i < q.end; ++i) {
    const float lse = *at(a.lse, head, i);
    for (int64_t j = k.begin; j < k.end; ++j) {
      const float score = a.scale * products_of(at<T>(a.q, i, col), at<T>(a.k, j, k_col), size).sum();
      *at(a.y, i, j - k.begin) += a.factor * exp_of(score - lse);
    }
  }
}

}  // namespace

void attention_weights(Context&, const ops::AttentionWeights& a) {
  for_storage(a.q.dtype, [&](auto zero) {
#pragma omp parallel for schedule(dynamic, 4) if (a.y.numel() >= kWorthThreads)
    for (int64_t sentence = 0; sentence < a.q_rows.begin.numel(); ++sentence)
      for (int64_t head = a.first_head; head < a.first_head + a.num_heads; ++head)
        add_head<decltype(zero)>(a, head, rows_of(a.q_rows, sentence), rows_of(a.k_rows, sentence));
  });
}

}  // namespace weft::cpu
