// tensor/cpu/attention/attention.h: what attention's forward and backward share: ranges, scratch sizes, uncovered
// rows.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "tensor/cpu/gemm/small_gemm.h"
#include "tensor/cpu/runtime.h"
#include "tensor/half.h"
#include "tensor/ops.h"

namespace weft::cpu {

inline constexpr int64_t kQueryTile = 32;  // queries whose probabilities are held at once

struct Rows {
  int64_t begin, end;
  int64_t count() const { return end - begin; }
};

inline Rows rows_of(const ops::SequenceRanges& ranges, int64_t sentence) {
  return {ranges.begin.ptr<int32_t>()[sentence], ranges.end.ptr<int32_t>()[sentence]};
}

// Rows that the longest sentence may have: shapes decide, not the sentences at hand.
inline int64_t longest(const ops::SequenceRanges& ranges, const Tensor& t) {
  return ranges.longest > 0 ? std::min(ranges.longest, t.rows()) : t.rows();
}

template <typename T = float>
T* at(const Tensor& t, int64_t row, int64_t col) {
  return t.ptr<T>() + row * t.row_stride + col;
}

// Where a product's f32 result goes: into the tensor itself, or, where that stores halves, into `space` [rows, columns
// rounded up] until finish() rounds it.
template <typename T>
class Result {
 public:
  Result(T* target, int64_t stride, int64_t cols, float* space) : target_(target), stride_(stride), cols_(cols) {
    if constexpr (std::is_same_v<T, float>) {
      data = target, ld = stride;
    } else {
      data = space, ld = round_up_to_lanes(cols);
    }
  }
  void finish(int64_t rows) const {
    if constexpr (!std::is_same_v<T, float>) {
      for (int64_t r = 0; r < rows; ++r) {
#pragma omp simd
        for (int64_t c = 0; c < cols_; ++c) target_[r * stride_ + c] = from_float<T>(data[r * ld + c]);
      }
    }
  }

  float* data;
  int64_t ld;

 private:
  T* target_;
  int64_t stride_, cols_;
};

template <typename T>
void zero_head(const Tensor& t, Rows rows, int64_t col, int64_t size) {
  for (int64_t r = rows.begin; r < rows.end; ++r) std::fill_n(at<T>(t, r, col), size, T{});
}

// The keys that query `q` of a sentence sees.
inline int64_t visible_keys(bool causal, int64_t q, int64_t num_keys) {
  return causal ? std::min(q + 1, num_keys) : num_keys;
}

// Queries of a head of a sentence whose scores are held at once.
struct QueryTile {
  int64_t head;
  Rows q, k;             // of the sentence
  int64_t begin, count;  // of its queries
  bool causal;

  int64_t row(int64_t i) const { return q.begin + begin + i; }
  int64_t visible(int64_t i) const { return visible_keys(causal, begin + i, k.count()); }  // keys of its query i
  int64_t keys() const { return visible(count - 1); }                                      // of all its queries
};

template <typename F>  // f(tile), from the first one on
void for_each_tile(int64_t head, Rows q, Rows k, bool causal, const F& f) {
  for (int64_t begin = 0; begin < q.count(); begin += kQueryTile)
    f(QueryTile{head, q, k, begin, std::min(kQueryTile, q.count() - begin), causal});
}

// attention_scores.cpp: what lies between the products. Rows are `ld` long and filled up with 0 to `padded`, which is
// a multiple of kLanes; `factors` is space for as much.
struct ScoreRows {
  int64_t ld, padded;
  float* factors;
};
// From scores to probabilities times their dropout factors; saves the log-sum-exp.
void softmax(const ops::AttentionForward& a, const QueryTile& tile, const ScoreRows& rows, float* scores);
// From scores in `p` and dY V^T in `d_p` to P M and dS.
void score_gradients(const ops::AttentionBackward& a, const QueryTile& tile, const ScoreRows& rows, float* p,
                     float* d_p);

// Sets to 0 what belongs to no sentence: those rows of `t` [R, W], and those columns of `per_row` [N, R] unless empty.
void zero_uncovered(Runtime& runtime, const ops::SequenceRanges& ranges, const Tensor& t, const Tensor& per_row);

}  // namespace weft::cpu
