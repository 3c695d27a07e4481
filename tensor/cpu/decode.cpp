// tensor/cpu/decode.cpp: rows gathered and scattered, and the best columns of a row, for beam search.
#include <algorithm>
#include <cstring>
#include <limits>

#include "tensor/cpu/runtime.h"
#include "tensor/ops.h"

namespace weft::cpu {

void gather_rows(Context&, const ops::GatherRows& a) {
  const int64_t rows = a.y.rows(), cols = a.y.cols();
  const int32_t* sources = a.rows.ptr<int32_t>();
#pragma omp parallel for schedule(static) if (rows * cols >= kWorthThreads)
  for (int64_t r = 0; r < rows; ++r) {
    assert(sources[r] >= 0 && sources[r] < a.x.rows());
    std::copy_n(a.x.ptr<float>() + sources[r] * a.x.row_stride, cols, a.y.ptr<float>() + r * a.y.row_stride);
  }
}

void scatter_rows(Context&, const ops::ScatterRows& a) {
  const int64_t rows = a.x.rows(), cols = a.x.cols();
  const int32_t* targets = a.rows.ptr<int32_t>();
#pragma omp parallel for schedule(static) if (rows * cols >= kWorthThreads)
  for (int64_t r = 0; r < rows; ++r) {
    assert(targets[r] >= 0 && targets[r] < a.y.rows());
    std::copy_n(a.x.ptr<float>() + r * a.x.row_stride, cols, a.y.ptr<float>() + targets[r] * a.y.row_stride);
  }
}

namespace {

// Keeps the k best of a row, in order, by insertion; most pieces of 64 columns hold no candidate and are only maxed.
void top_k_row(const float* x, int64_t n, int64_t k, float* values, int32_t* columns) {
  constexpr int64_t kPiece = 64;
  int64_t found = 0;
  for (int64_t begin = 0; begin < n; begin += kPiece) {
    const int64_t end = std::min(begin + kPiece, n);
    if (found == k) {
      float max = -std::numeric_limits<float>::infinity();
#pragma omp simd reduction(max : max)
      for (int64_t c = begin; c < end; ++c) max = x[c] > max ? x[c] : max;
      if (!(max > values[k - 1])) continue;
    }
    for (int64_t c = begin; c < end; ++c) {
      if (found == k && !(x[c] > values[k - 1])) continue;
      int64_t at = found < k ? found++ : k - 1;
      for (; at > 0 && x[c] > values[at - 1]; --at) {
        values[at] = values[at - 1];
        columns[at] = columns[at - 1];
      }
      values[at] = x[c];
      columns[at] = static_cast<int32_t>(c);
    }
  }
}

}  // namespace

void top_k(Context&, const ops::TopK& a) {
  const int64_t rows = a.x.rows(), k = a.values.cols();
#pragma omp parallel for schedule(static) if (rows * a.valid >= kWorthThreads)
  for (int64_t r = 0; r < rows; ++r) {
    top_k_row(a.x.ptr<float>() + r * a.x.row_stride, a.valid, k, a.values.ptr<float>() + r * k,
              a.columns.ptr<int32_t>() + r * k);
  }
}

}  // namespace weft::cpu
