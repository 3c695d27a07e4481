// tensor/cpu/attention/attention.h: defines what forward and backward attention share: rows, query tiles, scores, and
// the loop over groups of heads.
#pragma once

#include <omp.h>

#include <algorithm>
#include <cstdint>

#include "tensor/cpu/gemm/amx.h"
#include "tensor/cpu/gemm/small_gemm.h"
#include "tensor/cpu/runtime.h"
#include "tensor/op/op_formulas.h"
#include "tensor/ops.h"

namespace weft::cpu {

inline constexpr int64_t kQueryTile = 32;  // queries whose probabilities are in memory at once

struct Rows {
  int64_t begin, end;
  int64_t count() const { return end - begin; }
};

inline Rows rows_of(const ops::SequenceRanges& ranges, int64_t sentence) {
  return {ranges.begin.ptr<int32_t>()[sentence], ranges.end.ptr<int32_t>()[sentence]};
}

// Returns an upper bound on the rows of a sentence. The bound depends on shapes, not on the sentences of the batch.
inline int64_t longest(const ops::SequenceRanges& ranges, const Tensor& t) {
  return ranges.longest > 0 ? std::min(ranges.longest, t.rows()) : t.rows();
}

template <typename T = float>
T* at(const Tensor& t, int64_t row, int64_t col) {
  return t.ptr<T>() + row * t.row_stride + col;
}

template <typename T>
void zero_columns(const Tensor& t, Rows rows, int64_t begin, int64_t end) {
  for (int64_t r = rows.begin; r < rows.end; ++r) std::fill(at<T>(t, r, begin), at<T>(t, r, end), T{});
}

// Returns the number of keys that query `q` of a sentence sees.
inline int64_t visible_keys(bool causal, int64_t q, int64_t num_keys) {
  return causal ? std::min(q + 1, num_keys) : num_keys;
}

// A tile of queries of one head in one sentence, whose scores are all in memory.
struct QueryTile {
  int64_t head;
  Rows q, k;             // all rows of the sentence
  int64_t begin, count;  // the tile's queries, counted from q.begin
  bool causal;

  int64_t row(int64_t i) const { return q.begin + begin + i; }
  Rows rows() const { return {row(0), row(count)}; }
  int64_t visible(int64_t i) const { return visible_keys(causal, begin + i, k.count()); }  // keys visible to query i
  int64_t keys() const { return visible(count - 1); }                                      // keys visible to any query
};

// Query heads that share a head of k and v.
struct HeadGroup {
  int64_t kv_head, first, last;  // first <= head < last
};

template <typename F>  // calls f(tile), starting with the first head's first tile
void for_each_tile(HeadGroup heads, Rows q, Rows k, bool causal, const F& f) {
  for (int64_t head = heads.first; head < heads.last; ++head)
    for (int64_t begin = 0; begin < q.count(); begin += kQueryTile)
      f(QueryTile{head, q, k, begin, std::min(kQueryTile, q.count() - begin), causal});
}

// A tile's scores or their gradients. Rows are `ld` elements apart. Columns from `keys` to `padded` are set to 0.
struct Scores {
  float* data;
  int64_t ld, rows, keys, padded;
};

// Runs between the two matmuls: turns scores into probabilities times dropout factors, and saves the log-sum-exp
// (scores.cpp). `factors` is memory for dropout factors, as large as the scores.
void softmax(const ops::AttentionForward& a, const QueryTile& tile, const Scores& scores, float* factors);
// Turns `scores` into P * M, and `d_scores` from dY V^T into dS (see backward.cpp).
void score_gradients(const ops::AttentionBackward& a, const QueryTile& tile, const Scores& scores,
                     const Scores& d_scores, float* factors);

// Sets rows of `t` [R, W] that belong to no sentence to 0, and the same columns of `per_row` [N, R] unless it is empty.
void zero_uncovered(Runtime& runtime, const ops::SequenceRanges& ranges, const Tensor& t, const Tensor& per_row);

// Calls f(group of heads, queries, keys, scratch memory) once for each group of each sentence, in parallel.
template <typename Arguments, typename F>
void for_each_group(Runtime& run, const Arguments& a, const F& f) {
  const int64_t size = group_size(a), num_groups = a.heads / size;
#pragma omp parallel if (a.y.numel() >= kWorthThreads)
  {
    const TileConfig config(run.tiles_for(a.y.dtype));
    float* const scratch = run.scratch(omp_get_thread_num());
#pragma omp for collapse(2) schedule(dynamic, 4)
    for (int64_t sentence = 0; sentence < a.q_rows.begin.numel(); ++sentence)
      for (int64_t group = 0; group < num_groups; ++group)
        f(HeadGroup{group, group * size, (group + 1) * size}, rows_of(a.q_rows, sentence), rows_of(a.k_rows, sentence),
          scratch);
  }
}

}  // namespace weft::cpu
