// tensor/cpu/pointwise.cpp: ops that treat each element apart: fill, add, activation, dropout.
#include "tensor/cpu/dropout.h"
#include "tensor/cpu/runtime.h"
#include "tensor/math.h"
#include "tensor/ops.h"

namespace weft::cpu {

namespace {

// Calls f(pointer offset, count) for runs of contiguous elements, in parallel. `ts` share x's shape.
template <typename F>
void for_each_run(bool contiguous, int64_t rows, int64_t cols, const F& f) {
  constexpr int64_t kRun = 16384;
  const int64_t numel = rows * cols;
  if (contiguous) {
#pragma omp parallel for schedule(static) if (numel >= kWorthThreads)
    for (int64_t begin = 0; begin < numel; begin += kRun) f(int64_t{0}, begin, std::min(kRun, numel - begin));
  } else {
#pragma omp parallel for schedule(static) if (numel >= kWorthThreads)
    for (int64_t r = 0; r < rows; ++r) f(r, int64_t{0}, cols);
  }
}

int64_t num_rows(const Tensor& t) { return t.rank() == 2 ? t.rows() : 1; }
int64_t num_cols(const Tensor& t) { return t.rank() == 2 ? t.cols() : t.numel(); }

template <Activation kind>
void activation_forward_rows(const ops::ActivationForward& a) {
  const int64_t rows = a.x.rows(), cols = a.x.cols();
#pragma omp parallel for schedule(static) if (rows * cols >= kWorthThreads)
  for (int64_t r = 0; r < rows; ++r) {
    const float* x = a.x.ptr<float>() + r * a.x.row_stride;
    float* y = a.y.ptr<float>() + r * a.y.row_stride;
    for_each_dropout_piece(a.dropout, r, cols, [&](int64_t begin, int64_t end, const float* scales) {
      const auto f = [](float v) { return kind == Activation::relu ? relu(v) : gelu(v); };
      if (scales == nullptr) {
#pragma omp simd
        for (int64_t c = begin; c < end; ++c) y[c] = f(x[c]);
      } else {
#pragma omp simd
        for (int64_t c = begin; c < end; ++c) y[c] = f(x[c]) * scales[c - begin];
      }
    });
  }
}

template <Activation kind>
void activation_backward_rows(const ops::ActivationBackward& a) {
  const int64_t rows = a.x.rows(), cols = a.x.cols();
#pragma omp parallel for schedule(static) if (rows * cols >= kWorthThreads)
  for (int64_t r = 0; r < rows; ++r) {
    const float* x = a.x.ptr<float>() + r * a.x.row_stride;
    const float* d_y = a.d_y.ptr<float>() + r * a.d_y.row_stride;
    float* d_x = a.d_x.ptr<float>() + r * a.d_x.row_stride;
    for_each_dropout_piece(a.dropout, r, cols, [&](int64_t begin, int64_t end, const float* scales) {
      const auto f = [](float v) { return kind == Activation::relu ? relu_derivative(v) : gelu_derivative(v); };
      if (scales == nullptr) {
#pragma omp simd
        for (int64_t c = begin; c < end; ++c) d_x[c] = d_y[c] * f(x[c]);
      } else {
#pragma omp simd
        for (int64_t c = begin; c < end; ++c) d_x[c] = d_y[c] * scales[c - begin] * f(x[c]);
      }
    });
  }
}

}  // namespace

void fill(Context&, const ops::Fill& a) {
  float* x = a.x.ptr<float>();
  const float value = a.value;
  for_each_run(a.x.contiguous(), num_rows(a.x), num_cols(a.x), [&](int64_t row, int64_t col, int64_t count) {
    std::fill_n(x + row * a.x.row_stride + col, count, value);
  });
}

void add(Context&, const ops::Add& a) {
  const bool contiguous = a.x.contiguous() && a.y.contiguous();
  for_each_run(contiguous, num_rows(a.x), num_cols(a.x), [&](int64_t row, int64_t col, int64_t count) {
    const float* x = a.x.ptr<float>() + row * a.x.row_stride + col;
    float* y = a.y.ptr<float>() + row * a.y.row_stride + col;
#pragma omp simd
    for (int64_t i = 0; i < count; ++i) y[i] += x[i];
  });
}

void activation_forward(Context&, const ops::ActivationForward& a) {
  if (a.kind == Activation::relu) {
    activation_forward_rows<Activation::relu>(a);
  } else {
    activation_forward_rows<Activation::gelu>(a);
  }
}

void activation_backward(Context&, const ops::ActivationBackward& a) {
  if (a.kind == Activation::relu) {
    activation_backward_rows<Activation::relu>(a);
  } else {
    activation_backward_rows<Activation::gelu>(a);
  }
}

void dropout_add_forward(Context&, const ops::DropoutAddForward& a) {
  const int64_t rows = a.x.rows(), cols = a.x.cols();
  const bool has_residual = !a.residual.empty(), has_bias = !a.bias.empty();
#pragma omp parallel for schedule(static) if (rows * cols >= kWorthThreads)
  for (int64_t r = 0; r < rows; ++r) {
    const float* x = a.x.ptr<float>() + r * a.x.row_stride;
    const float* residual = has_residual ? a.residual.ptr<float>() + r * a.residual.row_stride : nullptr;
    const float* bias = has_bias ? a.bias.ptr<float>() : nullptr;
    float* y = a.y.ptr<float>() + r * a.y.row_stride;
    for_each_dropout_piece(a.dropout, r, cols, [&](int64_t begin, int64_t end, const float* scales) {
#pragma omp simd
      for (int64_t c = begin; c < end; ++c) {
        const float biased = bias ? x[c] + bias[c] : x[c];
        const float dropped = scales ? biased * scales[c - begin] : biased;
        y[c] = residual ? residual[c] + dropped : dropped;
      }
    });
  }
}

void dropout_backward(Context&, const ops::DropoutBackward& a) {
  const int64_t rows = a.d_y.rows(), cols = a.d_y.cols();
#pragma omp parallel for schedule(static) if (rows * cols >= kWorthThreads)
  for (int64_t r = 0; r < rows; ++r) {
    const float* d_y = a.d_y.ptr<float>() + r * a.d_y.row_stride;
    float* d_x = a.d_x.ptr<float>() + r * a.d_x.row_stride;
    for_each_dropout_piece(a.dropout, r, cols, [&](int64_t begin, int64_t end, const float* scales) {
#pragma omp simd
      for (int64_t c = begin; c < end; ++c) d_x[c] = scales ? d_y[c] * scales[c - begin] : d_y[c];
    });
  }
}

}  // namespace weft::cpu
