// tensor/cpu/normalization.cpp: computes norms, also fused with the residual sum. Each row stays in the L1 cache.
#include <algorithm>
#include <cmath>
#include <type_traits>

#include "tensor/cpu/dropout.h"
#include "tensor/cpu/runtime.h"
#include "tensor/half.h"
#include "tensor/ops.h"

namespace weft::cpu {

namespace {

template <typename T>
T* row_of(const Tensor& t, int64_t row) {
  return t.empty() ? nullptr : t.ptr<T>() + row * t.row_stride;
}

// Calls f(flag, ...) with each flag as a type, std::true_type or std::false_type, so that loops in f have no branches.
template <typename F>
void with_flags(const F& f) {
  f();
}
template <typename F, typename... Rest>
void with_flags(const F& f, bool flag, Rest... rest) {
  if (flag) {
    with_flags([&](auto... others) { f(std::true_type(), others...); }, rest...);
  } else {
    with_flags([&](auto... others) { f(std::false_type(), others...); }, rest...);
  }
}

// Sums f(column) in interleaved partial sums, because each addition to a single sum would wait for the previous one.
// The order does not depend on the length of the processor's vectors.
template <typename F>
float sum_over(int64_t cols, const F& f) {
  constexpr int64_t kSums = 64;
  float sums[kSums] = {};
  const int64_t whole = cols / kSums * kSums;
  for (int64_t begin = 0; begin < whole; begin += kSums) {
#pragma omp simd
    for (int64_t i = 0; i < kSums; ++i) sums[i] += f(begin + i);
  }
#pragma omp simd
  for (int64_t i = 0; i < cols - whole; ++i) sums[i] += f(whole + i);
  for (int64_t distance = kSums / 2; distance > 0; distance /= 2)
    for (int64_t i = 0; i < distance; ++i) sums[i] += sums[i + distance];
  return sums[0];
}

// Computes y = norm(x) of row r, for NormForward and ResidualNormForward.
template <NormKind kKind, typename T, typename Arguments>
void normalise_row_as(const Arguments& a, const Tensor& of, int64_t r) {
  constexpr NormFormula kFormula = formula_of(kKind);
  const int64_t cols = of.cols();
  const T* x = row_of<T>(of, r);
  T* y = row_of<T>(a.y, r);
  const float* gamma = a.gamma.template ptr<float>();
  const float* beta = kFormula.has_beta ? a.beta.template ptr<float>() : nullptr;
  const float inverse_cols = 1.0f / static_cast<float>(cols);
  const float mean = kFormula.centred ? inverse_cols * sum_over(cols, [&](int64_t c) { return to_float(x[c]); }) : 0.0f;
  const float squares = sum_over(cols, [&](int64_t c) { return (to_float(x[c]) - mean) * (to_float(x[c]) - mean); });
  const float rstd = 1.0f / std::sqrt(squares * inverse_cols + a.eps);
#pragma omp simd
  for (int64_t c = 0; c < cols; ++c)
    y[c] = from_float<T>((to_float(x[c]) - mean) * rstd * gamma[c] + (kFormula.has_beta ? beta[c] : 0.0f));
  if (kFormula.centred) a.mean.template ptr<float>()[r] = mean;
  a.rstd.template ptr<float>()[r] = rstd;
}

template <typename T, typename Arguments>
void normalise_row(const Arguments& a, const Tensor& of, int64_t r) {
  with_norm(a.kind, [&](auto kind) { normalise_row_as<kind, T>(a, of, r); });
}

template <typename T>
struct SumRow {  // h = residual + dropout(x + bias)
  const T *residual, *x;
  const float* bias;  // may be nullptr
  T* h;
};

template <bool kBiased, bool kDropped, typename T>
void add_piece(SumRow<T> row, const float* scales, int64_t begin, int64_t end) {
#pragma omp simd
  for (int64_t c = begin; c < end; ++c) {
    float value = to_float(row.x[c]);
    if (kBiased) value += row.bias[c];
    if (kDropped) value *= scales[c - begin];
    row.h[c] = from_float<T>(to_float(row.residual[c]) + value);
  }
}

template <typename T>
void add_row(const ops::ResidualNormForward& a, const DropoutMask& dropout, int64_t r) {
  const SumRow<T> row{.residual = row_of<T>(a.residual, r),
                      .x = row_of<T>(a.x, r),
                      .bias = a.bias.empty() ? nullptr : a.bias.ptr<float>(),
                      .h = row_of<T>(a.h, r)};
  for_each_dropout_piece(dropout, r, a.x.cols(), [&](int64_t begin, int64_t end, const float* scales) {
    with_flags([&](auto biased, auto dropped) { add_piece<biased, dropped>(row, scales, begin, end); },
               row.bias != nullptr, scales != nullptr);
  });
}

// Statistics of h, and of g = d_y * gamma, the gradient of the normalized row. If the kind is not centered, mean and
// mean_g are 0.
struct RowStatistics {
  float mean, rstd;
  float mean_g = 0, mean_gh = 0;  // mean of g, and of g times the normalized row
  float normalised(float h) const { return (h - mean) * rstd; }
};

template <typename T>
struct GradientRow {
  const T *h, *d_y, *d_residual;  // d_residual and d_bias may be nullptr
  const float* gamma;
  T *d_h, *d_x;
  float *d_gamma, *d_beta, *d_bias;  // sums over rows
};

// Completes the statistics and adds the row's contribution to d_gamma and d_beta.
template <typename T>
RowStatistics sum_row(RowStatistics s, GradientRow<T> row, int64_t cols) {
  float sum_g = 0, sum_gh = 0;
#pragma omp simd reduction(+ : sum_g, sum_gh)
  for (int64_t c = 0; c < cols; ++c) {
    const float normalised = s.normalised(to_float(row.h[c])), d = to_float(row.d_y[c]), g = d * row.gamma[c];
    sum_g += g;
    sum_gh += g * normalised;
    row.d_gamma[c] += d * normalised;
    row.d_beta[c] += d;
  }
  s.mean_g = sum_g / static_cast<float>(cols);
  s.mean_gh = sum_gh / static_cast<float>(cols);
  return s;
}

template <bool kBypassed, bool kDropped, bool kBiased, typename T>
void differentiate_piece(RowStatistics s, GradientRow<T> row, const float* scales, int64_t begin, int64_t end) {
#pragma omp simd
  for (int64_t c = begin; c < end; ++c) {
    float d = (to_float(row.d_y[c]) * row.gamma[c] - s.mean_g - s.normalised(to_float(row.h[c])) * s.mean_gh) * s.rstd;
    if (kBypassed) d += to_float(row.d_residual[c]);
    row.d_h[c] = from_float<T>(d);
    if (kDropped) d *= scales[c - begin];
    row.d_x[c] = from_float<T>(d);
    if (kBiased) row.d_bias[c] += d;
  }
}

// Computes d_h and d_x of row r, and adds the row to d_gamma, d_beta and d_bias, which are consecutive in `sums`.
template <typename T>
void backward_row(const ops::ResidualNormBackward& a, const DropoutMask& dropout, int64_t r, float* sums) {
  const int64_t cols = a.h.cols();
  const GradientRow<T> row{.h = row_of<T>(a.h, r),
                           .d_y = row_of<T>(a.d_y, r),
                           .d_residual = row_of<T>(a.d_residual, r),
                           .gamma = a.gamma.ptr<float>(),
                           .d_h = row_of<T>(a.d_h, r),
                           .d_x = row_of<T>(a.d_x, r),
                           .d_gamma = sums,
                           .d_beta = sums + cols,
                           .d_bias = a.d_bias.empty() ? nullptr : sums + 2 * cols};
  const bool centred = formula_of(a.kind).centred;
  RowStatistics s = sum_row({centred ? a.mean.ptr<float>()[r] : 0.0f, a.rstd.ptr<float>()[r]}, row, cols);
  if (!centred) s.mean_g = 0;
  for_each_dropout_piece(dropout, r, cols, [&](int64_t begin, int64_t end, const float* scales) {
    with_flags([&](auto bypassed, auto dropped,
                   auto biased) { differentiate_piece<bypassed, dropped, biased>(s, row, scales, begin, end); },
               row.d_residual != nullptr, scales != nullptr, row.d_bias != nullptr);
  });
}

// The rows are summed in this many parts, which are added in order. The scratch memory has room for more parts, but one
// thread adds them all.
constexpr int64_t kParts = 64;
static_assert(kParts <= ops::kNormPartials);

void add_sums(const ops::NormSums::Norm& a, int64_t parts) {
  const Tensor* outputs[] = {&a.d_gamma, &a.d_beta, &a.d_bias};
  const int64_t cols = a.d_gamma.numel();
  for (int64_t p = 0; p < parts; ++p) {
    const float* sums = a.partial.ptr<float>() + p * a.partial.dim(1) * cols;
    for (const Tensor* output : outputs) {
      if (!output->empty())
        for (int64_t c = 0; c < cols; ++c) output->ptr<float>()[c] += sums[c];
      sums += cols;
    }
  }
}

template <typename T>
void backward(const ops::ResidualNormBackward& a) {
  const int64_t rows = a.h.rows(), cols = a.h.cols(), parts = kParts;
  const int64_t part_size = a.partial.dim(1) * cols;
  const DropoutMask dropout = a.dropout.mask();
  float* partial = a.partial.ptr<float>();
#pragma omp parallel for schedule(static) if (rows * cols >= kWorthThreads)
  for (int64_t p = 0; p < parts; ++p) {
    float* sums = partial + p * part_size;
    std::fill_n(sums, part_size, 0.0f);
    for (int64_t r = rows * p / parts; r < rows * (p + 1) / parts; ++r) backward_row<T>(a, dropout, r, sums);
  }
  if (a.sums_later)
    std::fill(partial + parts * part_size, partial + a.partial.numel(), 0.0f);
  else
    add_sums({.partial = a.partial, .d_gamma = a.d_gamma, .d_beta = a.d_beta, .d_bias = a.d_bias}, parts);
}

}  // namespace

void norm_forward(Context&, const ops::NormForward& a) {
  for_storage(a.x.dtype, [&](auto zero) {
#pragma omp parallel for schedule(static) if (a.x.numel() >= kWorthThreads)
    for (int64_t r = 0; r < a.x.rows(); ++r) normalise_row<decltype(zero)>(a, a.x, r);
  });
}

void norm_backward(Context&, const ops::NormBackward& a) {
  const ops::ResidualNormBackward alone{.d_y = a.d_y,
                                        .h = a.x,
                                        .gamma = a.gamma,
                                        .mean = a.mean,
                                        .rstd = a.rstd,
                                        .d_residual = a.d_residual,
                                        .d_h = a.d_x,
                                        .d_x = a.d_x,
                                        .d_gamma = a.d_gamma,
                                        .d_beta = a.d_beta,
                                        .partial = a.partial,
                                        .kind = a.kind,
                                        .sums_later = a.sums_later};
  for_storage(a.x.dtype, [&](auto zero) { backward<decltype(zero)>(alone); });
}

void residual_norm_forward(Context&, const ops::ResidualNormForward& a) {
  for_storage(a.h.dtype, [&](auto zero) {
    using T = decltype(zero);
    const DropoutMask dropout = a.dropout.mask();
#pragma omp parallel for schedule(static) if (a.x.numel() >= kWorthThreads)
    for (int64_t r = 0; r < a.x.rows(); ++r) {
      add_row<T>(a, dropout, r);
      normalise_row<T>(a, a.h, r);
    }
  });
}

void residual_norm_backward(Context&, const ops::ResidualNormBackward& a) {
  for_storage(a.h.dtype, [&](auto zero) { backward<decltype(zero)>(a); });
}

void norm_sums(Context&, const ops::NormSums& a) {
  for (const ops::NormSums::Norm& norm : a.norms)
    if (!norm.partial.empty()) add_sums(norm, ops::kNormPartials);
}

}  // namespace weft::cpu
