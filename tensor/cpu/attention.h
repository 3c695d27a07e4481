// tensor/cpu/attention.h: what attention's forward and backward share: segments, scratch sizes, uncovered rows.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "tensor/cpu/dropout.h"
#include "tensor/cpu/runtime.h"
#include "tensor/cpu/small_gemm.h"
#include "tensor/half.h"
#include "tensor/ops.h"

namespace weft::cpu {

inline constexpr int64_t kQueryTile = 32;  // queries whose probabilities are held at once

struct Rows {
  int64_t begin, end;
  int64_t count() const { return end - begin; }
};

inline Rows rows_of(const ops::Segments& segments, int64_t sentence) {
  return {segments.begin.ptr<int32_t>()[sentence], segments.end.ptr<int32_t>()[sentence]};
}

// Rows that the longest sentence may have: shapes decide, not the sentences at hand.
inline int64_t longest(const ops::Segments& segments, const Tensor& t) {
  return segments.longest > 0 ? std::min(segments.longest, t.rows()) : t.rows();
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

// The keys a tile's last query sees, and those that query `q` of the sentence sees.
inline int64_t visible_keys(bool causal, int64_t q, int64_t num_keys) {
  return causal ? std::min(q + 1, num_keys) : num_keys;
}

// Dropout factors of a tile's visible keys, rounded up to vectors: those of `rows` queries, the sentence's from `tile`
// on. A causal tile's first rows see less keys, so it goes by strips.
template <typename Arguments>
void fill_dropout(const Arguments& a, int64_t head, Rows q, Rows k, int64_t tile, int64_t rows, float* factors,
                  int64_t ld) {
  const int64_t strip = a.causal ? kLanes : rows;
  for (int64_t r = 0; r < rows; r += strip) {
    const int64_t count = std::min(strip, rows - r), keys = visible_keys(a.causal, tile + r + count - 1, k.count());
    DropoutBlock(a.dropout).fill(a.dropout.index(head * a.q.rows() + q.begin + tile + r, k.begin), count,
                                 round_up_to_lanes(keys), factors + r * ld, ld);
  }
}

// Scales a row of scores; those past `visible` become minus infinity, so that what follows needs no remainder loops.
void scale_and_mask(float* scores, int64_t visible, int64_t padded, float scale);
// scores = exp(scores - shift); returns their sum. `padded` is a multiple of kLanes.
float exponentials(float* scores, int64_t padded, float shift);

// Sets to 0 what belongs to no sentence: those rows of `t` [R, W], and those columns of `per_row` [N, R] unless empty.
void zero_uncovered(Runtime& runtime, const ops::Segments& segments, const Tensor& t, const Tensor& per_row);

}  // namespace weft::cpu
