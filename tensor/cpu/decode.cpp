// tensor/cpu/decode.cpp: gathers and scatters rows, and finds the top k of a row, for beam search.
#include <algorithm>
#include <cstring>
#include <limits>

#include "tensor/cpu/runtime.h"
#include "tensor/half.h"
#include "tensor/ops.h"

namespace weft::cpu {

namespace {

char* row_at(const Tensor& t, int64_t row) {
  return static_cast<char*>(t.data) + row * t.row_stride * static_cast<int64_t>(size_of(t.dtype));
}

}  // namespace

void gather_rows(Context&, const ops::GatherRows& a) {
  const int64_t rows = a.y.rows(), cols = a.y.cols();
  const size_t bytes = static_cast<size_t>(cols) * size_of(a.y.dtype);
  const int32_t* sources = a.rows.ptr<int32_t>();
#pragma omp parallel for schedule(static) if (rows * cols >= kWorthThreads)
  for (int64_t r = 0; r < rows; ++r) {
    assert(sources[r] >= 0 && sources[r] < a.x.rows());
    std::memcpy(row_at(a.y, r), row_at(a.x, sources[r]), bytes);
  }
}

void scatter_rows(Context&, const ops::ScatterRows& a) {
  const int64_t rows = a.x.rows(), cols = a.x.cols();
  const size_t bytes = static_cast<size_t>(cols) * size_of(a.y.dtype);
  const int32_t* targets = a.rows.ptr<int32_t>();
#pragma omp parallel for schedule(static) if (rows * cols >= kWorthThreads)
  for (int64_t r = 0; r < rows; ++r) {
    assert(targets[r] >= 0 && targets[r] < a.y.rows());
    std::memcpy(row_at(a.y, targets[r]), row_at(a.x, r), bytes);
  }
}

namespace {

struct ColumnRules {
  const int32_t* classes = nullptr;
  uint32_t allowed = 0;
  bool allow(int64_t column) const { return classes == nullptr || (allowed >> classes[column] & 1) != 0; }
};

// Keeps the k best of a row in order, by insertion. A chunk of 64 columns is skipped if its maximum is too small.
template <typename T>
void top_k_row(const T* x, int64_t n, int64_t k, float* values, int32_t* columns, ColumnRules rules) {
  constexpr int64_t kPiece = 64;
  int64_t found = 0;
  for (int64_t begin = 0; begin < n; begin += kPiece) {
    const int64_t end = std::min(begin + kPiece, n);
    if (found == k) {
      float max = -std::numeric_limits<float>::infinity();
#pragma omp simd reduction(max : max)
      for (int64_t c = begin; c < end; ++c) max = to_float(x[c]) > max ? to_float(x[c]) : max;
      if (!(max > values[k - 1])) continue;
    }
    for (int64_t c = begin; c < end; ++c) {
      float value = to_float(x[c]);
      if (found == k && !(value > values[k - 1])) continue;
      if (!rules.allow(c)) value = -std::numeric_limits<float>::infinity();
      if (found == k && !(value > values[k - 1])) continue;
      int64_t at = found < k ? found++ : k - 1;
      for (; at > 0 && value > values[at - 1]; --at) {
        values[at] = values[at - 1];
        columns[at] = columns[at - 1];
      }
      values[at] = value;
      columns[at] = static_cast<int32_t>(c);
    }
  }
}

ColumnRules rules_of(const ops::TopK& a, int64_t row) {
  if (a.classes.empty()) return {};
  return {.classes = a.classes.ptr<int32_t>(), .allowed = static_cast<uint32_t>(a.allowed.ptr<int32_t>()[row])};
}

}  // namespace

void top_k(Context&, const ops::TopK& a) {
  const int64_t rows = a.x.rows(), k = a.values.cols();
  for_storage(a.x.dtype, [&](auto zero) {
    using T = decltype(zero);
#pragma omp parallel for schedule(static) if (rows * a.valid >= kWorthThreads)
    for (int64_t r = 0; r < rows; ++r) {
      top_k_row(a.x.ptr<T>() + r * a.x.row_stride, a.valid, k, a.values.ptr<float>() + r * k,
                a.columns.ptr<int32_t>() + r * k, rules_of(a, r));
    }
  });
}

}  // namespace weft::cpu
