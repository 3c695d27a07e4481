// tensor/cpu/attention/attention_backward.cpp: gradients of attention; probabilities are computed again from the saved
// lse.
//
// With P the probabilities, M the dropout factors and dP = dY V^T:  dV = (P M)^T dY,
// dS = scale P (dP M - rowsum(dY Y)),  dQ = dS K,  dK = dS^T Q.
#include <omp.h>

#include "tensor/cpu/attention/attention.h"
#include "tensor/cpu/attention/attention_tiles.h"

namespace weft::cpu {

namespace {

struct Workspace {
  float *k_transposed, *v_transposed, *k, *q, *d_y, *p, *d_p, *scales, *d_k, *d_v, *d_q;
  static size_t size(int64_t keys, int64_t head) {
    const int64_t ld_keys = round_up_to_lanes(keys), ld_head = round_up_to_lanes(head);
    return static_cast<size_t>(2 * head * ld_keys + 3 * keys * ld_head + 3 * kQueryTile * ld_head +
                               3 * kQueryTile * ld_keys);
  }
  Workspace(float* memory, int64_t keys, int64_t head) {
    const int64_t ld_keys = round_up_to_lanes(keys), ld_head = round_up_to_lanes(head);
    k_transposed = memory;
    v_transposed = k_transposed + head * ld_keys;
    k = v_transposed + head * ld_keys;
    q = k + keys * ld_head;
    d_y = q + kQueryTile * ld_head;
    p = d_y + kQueryTile * ld_head;
    d_p = p + kQueryTile * ld_keys;
    scales = d_p + kQueryTile * ld_keys;
    d_k = scales + kQueryTile * ld_keys;
    d_v = d_k + keys * ld_head;
    d_q = d_v + keys * ld_head;
  }
};

template <typename T>
void zero_rows(const Result<T>& result, int64_t begin, int64_t end, int64_t cols) {
  for (int64_t r = begin; r < end; ++r) std::fill_n(result.data + r * result.ld, cols, 0.0f);
}

template <typename T>
void backward_head(const ops::AttentionBackward& a, int64_t head, Rows q, Rows k, float* memory) {
  const int64_t size = a.q.cols() / a.heads, col = head * size, num_keys = k.count();
  const int64_t ld_keys = round_up_to_lanes(num_keys);
  const Workspace s(memory, num_keys, size);
  pack_transposed(at<T>(a.k, k.begin, col), a.k.row_stride, num_keys, size, s.k_transposed, ld_keys);
  pack_transposed(at<T>(a.v, k.begin, col), a.v.row_stride, num_keys, size, s.v_transposed, ld_keys);
  const SmallB keys_by_row = padded(at<T>(a.k, k.begin, col), a.k.row_stride, num_keys, size, s.k);

  const Result<T> d_k(at<T>(a.d_k, k.begin, col), a.d_k.row_stride, size, s.d_k);
  const Result<T> d_v(at<T>(a.d_v, k.begin, col), a.d_v.row_stride, size, s.d_v);
  const int64_t seen = visible_keys(a.causal, q.count() - 1, num_keys);
  zero_head<T>(a.d_k, {k.begin + seen, k.end}, col, size);
  zero_head<T>(a.d_v, {k.begin + seen, k.end}, col, size);

  for_each_tile(head, q, k, a.causal, [&](const QueryTile& tile) {
    const int64_t rows = tile.count, first = tile.row(0), keys = tile.keys(), padded_keys = round_up_to_lanes(keys);
    const SmallB queries = padded(at<T>(a.q, first, col), a.q.row_stride, rows, size, s.q);
    const SmallB d_y = padded(at<T>(a.d_y, first, col), a.d_y.row_stride, rows, size, s.d_y);
    small_gemm(rows, padded_keys, size, {queries.data, queries.ld, 1}, {s.k_transposed, ld_keys}, s.p, ld_keys);
    small_gemm(rows, padded_keys, size, {d_y.data, d_y.ld, 1}, {s.v_transposed, ld_keys}, s.d_p, ld_keys);
    score_gradients(a, tile, {ld_keys, padded_keys, s.scales}, s.p, s.d_p);
    // The first tile of a causal sentence sees only the first keys: what it does not write, the next ones add to.
    if (tile.begin == 0) zero_rows(d_k, keys, seen, size), zero_rows(d_v, keys, seen, size);
    const bool add = tile.begin > 0;
    small_gemm(keys, size, rows, {s.p, 1, ld_keys}, d_y, d_v.data, d_v.ld, add);
    small_gemm(keys, size, rows, {s.d_p, 1, ld_keys}, queries, d_k.data, d_k.ld, add);
    const Result<T> d_q(at<T>(a.d_q, first, col), a.d_q.row_stride, size, s.d_q);
    small_gemm(rows, size, keys, {s.d_p, ld_keys, 1}, keys_by_row, d_q.data, d_q.ld);
    d_q.finish(rows);
  });
  d_k.finish(seen);
  d_v.finish(seen);
}

template <typename T>
void backward_head(Runtime& run, const ops::AttentionBackward& a, int64_t head, Rows q, Rows k) {
  float* const scratch = run.scratch(omp_get_thread_num());
  if constexpr (kTilesCompiled && std::is_same_v<T, BFloat16>) {
    if (run.tiles_for(a.y.dtype)) return backward_head_tiles(a, head, q, k, scratch);
  }
  backward_head<T>(a, head, q, k, scratch);
}

}  // namespace

void measure(Context& ctx, const ops::AttentionBackward& a) {
  const int64_t keys = longest(a.k_rows, a.k), size = a.q.cols() / a.heads;
  size_t floats = Workspace::size(keys, size);
  if constexpr (kTilesCompiled) {
    if (runtime(ctx).tiles_for(a.y.dtype)) floats = backward_tiles_scratch(keys, size);
  }
  runtime(ctx).reserve_scratch(omp_get_max_threads(), floats);
}

void attention_backward(Context& ctx, const ops::AttentionBackward& a) {
  measure(ctx, a);
  Runtime& run = runtime(ctx);
  const int64_t num_sentences = a.q_rows.begin.numel(), size = a.q.cols() / a.heads;
  zero_uncovered(run, a.q_rows, a.d_q, {});
  zero_uncovered(run, a.k_rows, a.d_k, {});
  zero_uncovered(run, a.k_rows, a.d_v, {});
  for_storage(a.y.dtype, [&](auto zero) {
    using T = decltype(zero);
#pragma omp parallel if (a.y.numel() >= kWorthThreads)
    {
      const TileConfig config(run.tiles_for(a.y.dtype));
#pragma omp for collapse(2) schedule(dynamic, 4)
      for (int64_t sentence = 0; sentence < num_sentences; ++sentence) {
        for (int64_t head = 0; head < a.heads; ++head) {
          const Rows q = rows_of(a.q_rows, sentence), k = rows_of(a.k_rows, sentence);
          if (q.count() > 0 && k.count() > 0) {
            backward_head<T>(run, a, head, q, k);
          } else {
            zero_head<T>(a.d_q, q, head * size, size);
            zero_head<T>(a.d_k, k, head * size, size);
            zero_head<T>(a.d_v, k, head * size, size);
          }
        }
      }
    }
  });
}

}  // namespace weft::cpu
