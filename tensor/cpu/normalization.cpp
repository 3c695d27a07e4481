// tensor/cpu/normalization.cpp: layer normalisation, forward and backward.
#include <algorithm>
#include <cmath>

#include "tensor/cpu/runtime.h"
#include "tensor/half.h"
#include "tensor/ops.h"

namespace weft::cpu {

namespace {

template <typename T>
void forward(const ops::LayerNormForward& a) {
  const int64_t rows = a.x.rows(), cols = a.x.cols();
  const float* gamma = a.gamma.ptr<float>();
  const float* beta = a.beta.ptr<float>();
  const float inverse_cols = 1.0f / static_cast<float>(cols);
#pragma omp parallel for schedule(static) if (rows * cols >= kWorthThreads)
  for (int64_t r = 0; r < rows; ++r) {
    const T* x = a.x.ptr<T>() + r * a.x.row_stride;
    T* y = a.y.ptr<T>() + r * a.y.row_stride;
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t c = 0; c < cols; ++c) sum += to_float(x[c]);
    const float mean = sum * inverse_cols;
    float squares = 0;
#pragma omp simd reduction(+ : squares)
    for (int64_t c = 0; c < cols; ++c) squares += (to_float(x[c]) - mean) * (to_float(x[c]) - mean);
    const float rstd = 1.0f / std::sqrt(squares * inverse_cols + a.eps);
#pragma omp simd
    for (int64_t c = 0; c < cols; ++c) y[c] = from_float<T>((to_float(x[c]) - mean) * rstd * gamma[c] + beta[c]);
    a.mean.ptr<float>()[r] = mean;
    a.rstd.ptr<float>()[r] = rstd;
  }
}

// One row: d_x, and the row's part of d_gamma and d_beta.
template <typename T>
void backward_row(const ops::LayerNormBackward& a, int64_t r, float* d_gamma, float* d_beta) {
  const int64_t cols = a.x.cols();
  const T* x = a.x.ptr<T>() + r * a.x.row_stride;
  const T* d_y = a.d_y.ptr<T>() + r * a.d_y.row_stride;
  const T* residual = a.d_residual.empty() ? nullptr : a.d_residual.ptr<T>() + r * a.d_residual.row_stride;
  const float* gamma = a.gamma.ptr<float>();
  T* d_x = a.d_x.ptr<T>() + r * a.d_x.row_stride;
  const float mean = a.mean.ptr<float>()[r], rstd = a.rstd.ptr<float>()[r];

  float sum_g = 0, sum_gx = 0;  // of g = d_y gamma, the gradient of the normalised row, and of g times that row
#pragma omp simd reduction(+ : sum_g, sum_gx)
  for (int64_t c = 0; c < cols; ++c) {
    const float normalised = (to_float(x[c]) - mean) * rstd, d = to_float(d_y[c]), g = d * gamma[c];
    sum_g += g;
    sum_gx += g * normalised;
    d_gamma[c] += d * normalised;
    d_beta[c] += d;
  }
  const float mean_g = sum_g / static_cast<float>(cols), mean_gx = sum_gx / static_cast<float>(cols);
#pragma omp simd
  for (int64_t c = 0; c < cols; ++c) {
    const float normalised = (to_float(x[c]) - mean) * rstd;
    const float d = (to_float(d_y[c]) * gamma[c] - mean_g - normalised * mean_gx) * rstd;
    d_x[c] = from_float<T>(residual ? to_float(residual[c]) + d : d);
  }
}

template <typename T>
void backward(const ops::LayerNormBackward& a) {
  const int64_t rows = a.x.rows(), cols = a.x.cols(), parts = ops::kLayerNormPartials;
  float* partial = a.partial.ptr<float>();
#pragma omp parallel for schedule(static) if (rows * cols >= kWorthThreads)
  for (int64_t p = 0; p < parts; ++p) {
    float* d_gamma = partial + p * 2 * cols;
    std::fill_n(d_gamma, 2 * cols, 0.0f);
    for (int64_t r = rows * p / parts; r < rows * (p + 1) / parts; ++r) {
      backward_row<T>(a, r, d_gamma, d_gamma + cols);
    }
  }
  float* d_gamma = a.d_gamma.ptr<float>();
  float* d_beta = a.d_beta.ptr<float>();
  for (int64_t p = 0; p < parts; ++p) {
    const float* part = partial + p * 2 * cols;
    for (int64_t c = 0; c < cols; ++c) d_gamma[c] += part[c];
    for (int64_t c = 0; c < cols; ++c) d_beta[c] += part[cols + c];
  }
}

}  // namespace

void layer_norm_forward(Context&, const ops::LayerNormForward& a) {
  for_storage(a.x.dtype, [&](auto zero) { forward<decltype(zero)>(a); });
}

void layer_norm_backward(Context&, const ops::LayerNormBackward& a) {
  for_storage(a.x.dtype, [&](auto zero) { backward<decltype(zero)>(a); });
}

}  // namespace weft::cpu
