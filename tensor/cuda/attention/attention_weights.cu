// tensor/cuda/attention/attention_weights.cu: computes attention probabilities from queries, keys and the saved lse.
// Each warp processes a query, and each lane every 32nd key. Tensor cores are not needed, because inspection is rare.
#include "tensor/cuda/attention/attention_tile.cuh"
#include "tensor/elementary.h"

namespace weft::cuda {
namespace {

using namespace attention;

constexpr int kQueriesPerBlock = 4;

template <typename T>
struct Weights {
  Head<const T> q, k;
  SentenceRows q_rows, k_rows;
  int num_sentences, num_queries;
  const float* lse;  // [N, Rq]
  int64_t lse_stride;
  int first_head, num_heads, group;
  float scale, factor;
  float* y;  // [Rq, num_columns]
  int64_t y_stride, num_columns;
};

template <typename T>
__global__ void __launch_bounds__(kWarp* kQueriesPerBlock) attention_weights_kernel(Weights<T> a) {
  const int query = static_cast<int>(blockIdx.x) * kQueriesPerBlock + static_cast<int>(threadIdx.x) / kWarp;
  if (query >= a.num_queries) return;
  SentencesOfTile sentences(a.q_rows, a.num_sentences, query, query + 1);
  for (Visit visit; sentences.next(visit);) {
    const int k_begin = a.k_rows.begin[visit.sentence], num_keys = a.k_rows.end[visit.sentence] - k_begin;
    for (int head = a.first_head; head < a.first_head + a.num_heads; ++head) {
      const float lse = a.lse[head * a.lse_stride + query];
      const T* const q = a.q.at(head).data + query * a.q.stride;
      for (int key = lane_id(); key < num_keys && key < a.num_columns; key += kWarp) {
        const T* const k = a.k.at(head / a.group).data + (k_begin + key) * a.k.stride;
        float score = 0;
        for (int c = 0; c < a.q.size; ++c) score = fmaf(to_float(q[c]), to_float(k[c]), score);
        a.y[query * a.y_stride + key] += a.factor * exp_of(a.scale * score - lse);
      }
    }
  }
}

}  // namespace

void attention_weights(Context& ctx, const ops::AttentionWeights& a) {
  const int64_t group = group_size(a);
  for_storage(a.q.dtype, [&](auto zero) {
    using T = decltype(zero);
    const Weights<T> parameters{.q = first_head<const T>(a.q, a.heads),
                                .k = first_head<const T>(a.k, a.heads / group),
                                .q_rows = SentenceRows(a.q_rows),
                                .k_rows = SentenceRows(a.k_rows),
                                .num_sentences = static_cast<int>(a.q_rows.begin.numel()),
                                .num_queries = static_cast<int>(a.q.rows()),
                                .lse = a.lse.ptr<float>(),
                                .lse_stride = a.lse.row_stride,
                                .first_head = static_cast<int>(a.first_head),
                                .num_heads = static_cast<int>(a.num_heads),
                                .group = static_cast<int>(group),
                                .scale = a.scale,
                                .factor = a.factor,
                                .y = a.y.ptr<float>(),
                                .y_stride = a.y.row_stride,
                                .num_columns = a.y.cols()};
    launch(ctx, "attention_weights", attention_weights_kernel<T>, blocks_for(a.q.rows(), kQueriesPerBlock),
           kQueriesPerBlock * kWarp, 0, parameters);
  });
}

}  // namespace weft::cuda
