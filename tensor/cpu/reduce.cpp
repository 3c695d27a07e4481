// tensor/cpu/reduce.cpp: computes sums in an order that does not depend on the number of threads.
#include <algorithm>

#include "tensor/cpu/runtime.h"
#include "tensor/half.h"
#include "tensor/ops.h"

namespace weft::cpu {

namespace {

template <typename T>
void add_columns(const ops::ColumnSum& a) {
  constexpr int64_t kColumns = 64, kRows = 256;  // columns per thread; rows summed before they are added to y
  const int64_t rows = a.x.rows(), cols = a.x.cols();
#pragma omp parallel for schedule(static) if (rows * cols >= kWorthThreads)
  for (int64_t begin = 0; begin < cols; begin += kColumns) {
    const int64_t count = std::min(kColumns, cols - begin);
    float* y = a.y.ptr<float>() + begin;
    for (int64_t first = 0; first < rows; first += kRows) {
      float sums[kColumns] = {};
      for (int64_t r = first; r < std::min(first + kRows, rows); ++r) {
        const T* x = a.x.ptr<T>() + r * a.x.row_stride + begin;
#pragma omp simd
        for (int64_t c = 0; c < count; ++c) sums[c] += to_float(x[c]);
      }
      for (int64_t c = 0; c < count; ++c) y[c] += sums[c];
    }
  }
}

// Sums f(x) in double over 64 fixed ranges, then adds the ranges in order.
template <typename F>
double sum_of(const Tensor& t, const F& f) {
  constexpr int64_t kRanges = 64;
  const float* x = t.ptr<float>();
  const int64_t n = t.numel();
  double sums[kRanges];
#pragma omp parallel for schedule(static) if (n >= kWorthThreads)
  for (int64_t i = 0; i < kRanges; ++i) {
    double sum = 0;
    const int64_t end = n * (i + 1) / kRanges;
#pragma omp simd reduction(+ : sum)
    for (int64_t j = n * i / kRanges; j < end; ++j) sum += f(static_cast<double>(x[j]));
    sums[i] = sum;
  }
  double total = 0;
  for (double sum : sums) total += sum;
  return total;
}

}  // namespace

void column_sum(Context&, const ops::ColumnSum& a) {
  for_storage(a.x.dtype, [&](auto zero) { add_columns<decltype(zero)>(a); });
}

void sum(Context&, const ops::Sum& a) {
  *a.y.ptr<double>() += sum_of(a.x, [](double x) { return x; });
}

void sum_squares(Context&, const ops::SumSquares& a) {
  *a.y.ptr<double>() += sum_of(a.x, [](double x) { return x * x; });
}

}  // namespace weft::cpu
