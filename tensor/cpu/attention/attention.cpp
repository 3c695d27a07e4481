// tensor/cpu/attention/attention.cpp: forward attention; a task is one head of one sentence, and owns what it writes.
#include "tensor/cpu/attention/attention.h"

#include <omp.h>

#include <limits>

#include "tensor/cpu/attention/attention_tiles.h"

namespace weft::cpu {

void zero_uncovered(Runtime& runtime, const ops::SequenceRanges& ranges, const Tensor& t, const Tensor& per_row) {
  std::vector<uint8_t>& covered = runtime.marks;
  covered.assign(static_cast<size_t>(t.rows()), 0);
  for (int64_t i = 0; i < ranges.begin.numel(); ++i) {
    const Rows rows = rows_of(ranges, i);
    if (rows.count() > 0) std::fill(covered.begin() + rows.begin, covered.begin() + rows.end, uint8_t{1});
  }
  for (int64_t r = 0; r < t.rows(); ++r) {
    if (covered[static_cast<size_t>(r)]) continue;
    for_storage(t.dtype, [&](auto zero) { std::fill_n(at<decltype(zero)>(t, r, 0), t.cols(), zero); });
    if (per_row.empty()) continue;
    for (int64_t n = 0; n < per_row.rows(); ++n) *at(per_row, n, r) = 0.0f;
  }
}

namespace {

struct Workspace {
  float *k_transposed, *v, *probabilities, *scales, *q, *y;
  static size_t size(int64_t keys, int64_t head) {
    const int64_t ld_keys = round_up_to_lanes(keys), ld_head = round_up_to_lanes(head);
    return static_cast<size_t>(head * ld_keys + keys * ld_head + 2 * kQueryTile * (ld_keys + ld_head));
  }
  Workspace(float* p, int64_t keys, int64_t head) {
    const int64_t ld_keys = round_up_to_lanes(keys), ld_head = round_up_to_lanes(head);
    k_transposed = p;
    v = k_transposed + head * ld_keys;
    probabilities = v + keys * ld_head;
    scales = probabilities + kQueryTile * ld_keys;
    q = scales + kQueryTile * ld_keys;
    y = q + kQueryTile * ld_head;
  }
};

template <typename T>
void forward_head(const ops::AttentionForward& a, int64_t head, Rows q, Rows k, float* memory) {
  const int64_t size = a.q.cols() / a.heads, col = head * size, num_keys = k.count();
  const int64_t ld_keys = round_up_to_lanes(num_keys);
  const Workspace s(memory, num_keys, size);
  pack_transposed(at<T>(a.k, k.begin, col), a.k.row_stride, num_keys, size, s.k_transposed, ld_keys);
  const SmallB v = padded(at<T>(a.v, k.begin, col), a.v.row_stride, num_keys, size, s.v);

  for_each_tile(head, q, k, a.causal, [&](const QueryTile& tile) {
    const int64_t rows = tile.count, first = tile.row(0), keys = tile.keys(), padded_keys = round_up_to_lanes(keys);
    const SmallB queries = padded(at<T>(a.q, first, col), a.q.row_stride, rows, size, s.q);
    small_gemm(rows, padded_keys, size, {queries.data, queries.ld, 1}, {s.k_transposed, ld_keys}, s.probabilities,
               ld_keys);
    softmax(a, tile, {ld_keys, padded_keys, s.scales}, s.probabilities);
    const Result<T> y(at<T>(a.y, first, col), a.y.row_stride, size, s.y);
    small_gemm(rows, size, keys, {s.probabilities, ld_keys, 1}, v, y.data, y.ld);
    y.finish(rows);
  });
}

template <typename T>
void forward_without_keys(const ops::AttentionForward& a, int64_t head, Rows q) {
  const int64_t size = a.q.cols() / a.heads;
  for (int64_t r = q.begin; r < q.end; ++r) {
    std::fill_n(at<T>(a.y, r, head * size), size, T{});
    if (!a.lse.empty()) *at(a.lse, head, r) = -std::numeric_limits<float>::infinity();
  }
}

template <typename T>
void forward_head(Runtime& run, const ops::AttentionForward& a, int64_t head, Rows q, Rows k) {
  float* const scratch = run.scratch(omp_get_thread_num());
  if constexpr (kTilesCompiled && std::is_same_v<T, BFloat16>) {
    if (run.tiles_for(a.y.dtype)) return forward_head_tiles(a, head, q, k, scratch);
  }
  forward_head<T>(a, head, q, k, scratch);
}

}  // namespace

void measure(Context& ctx, const ops::AttentionForward& a) {
  const int64_t keys = longest(a.k_rows, a.k), size = a.q.cols() / a.heads;
  size_t floats = Workspace::size(keys, size);
  if constexpr (kTilesCompiled) {
    if (runtime(ctx).tiles_for(a.y.dtype)) floats = forward_tiles_scratch(keys, size);
  }
  runtime(ctx).reserve_scratch(omp_get_max_threads(), floats);
}

void attention_forward(Context& ctx, const ops::AttentionForward& a) {
  measure(ctx, a);
  Runtime& run = runtime(ctx);
  const int64_t num_sentences = a.q_rows.begin.numel();
  zero_uncovered(run, a.q_rows, a.y, a.lse);
  for_storage(a.y.dtype, [&](auto zero) {
    using T = decltype(zero);
#pragma omp parallel if (a.y.numel() >= kWorthThreads)
    {
      const TileConfig config(run.tiles_for(a.y.dtype));
#pragma omp for collapse(2) schedule(dynamic, 4)
      for (int64_t sentence = 0; sentence < num_sentences; ++sentence) {
        for (int64_t head = 0; head < a.heads; ++head) {
          const Rows q = rows_of(a.q_rows, sentence), k = rows_of(a.k_rows, sentence);
          if (k.count() > 0) {
            forward_head<T>(run, a, head, q, k);
          } else {
            forward_without_keys<T>(a, head, q);
          }
        }
      }
    }
  });
}

}  // namespace weft::cpu
