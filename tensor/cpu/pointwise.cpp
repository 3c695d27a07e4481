// tensor/cpu/pointwise.cpp: computes elementwise ops: fill, add, cast, activation, dropout.
#include <array>

#include "tensor/cpu/dropout.h"
#include "tensor/cpu/runtime.h"
#include "tensor/cpu/streaming.h"
#include "tensor/half.h"
#include "tensor/math.h"
#include "tensor/ops.h"

namespace weft::cpu {

namespace {

template <typename T>
T* row_of(const Tensor& t, int64_t row) {
  return t.empty() ? nullptr : t.ptr<T>() + row * t.row_stride;
}

// Calls f(row, first column, count) for runs of elements, in parallel. A contiguous tensor counts as one row.
template <typename F>
void for_each_run(bool contiguous, const Tensor& t, const F& f) {
  constexpr int64_t kRun = 16384;
  const int64_t numel = t.numel();
  if (contiguous) {
#pragma omp parallel for schedule(static) if (numel >= kWorthThreads)
    for (int64_t begin = 0; begin < numel; begin += kRun) f(int64_t{0}, begin, std::min(kRun, numel - begin));
  } else {
#pragma omp parallel for schedule(static) if (numel >= kWorthThreads)
    for (int64_t r = 0; r < t.rows(); ++r) f(r, int64_t{0}, t.cols());
  }
}

// Calls f(row, begin, end, scales) for the chunks of each row (dropout.h), with rows in parallel.
template <typename F>
void for_each_piece(const Dropout& dropout, int64_t rows, int64_t cols, const F& f) {
  const DropoutMask mask = dropout.mask();
#pragma omp parallel for schedule(static) if (rows * cols >= kWorthThreads)
  for (int64_t r = 0; r < rows; ++r) {
    for_each_dropout_piece(mask, r, cols,
                           [&](int64_t begin, int64_t end, const float* scales) { f(r, begin, end, scales); });
  }
}

// Activations are computed on chunks of f32 in the L1 cache, so that the long loops are compiled once, not for each
// storage type and use.
constexpr int64_t kChunk = 256;

void to_values(Activation kind, float* x, int64_t count) {
  with_activation(kind, [&](auto function) {
#pragma omp simd
    for (int64_t i = 0; i < count; ++i) x[i] = function.value(x[i]);
  });
}

void to_derivatives(Activation kind, float* x, int64_t count) {
  with_activation(kind, [&](auto function) {
#pragma omp simd
    for (int64_t i = 0; i < count; ++i) x[i] = function.derivative(x[i]);
  });
}

template <typename T>
void widen(const T* x, float* to, int64_t count) {
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) to[i] = to_float(x[i]);
}

// Calls f(row, begin, count, scales) for chunks of the rows, in parallel. Without dropout, all scales are 1.
template <typename F>
void for_each_chunk(const Dropout& dropout, const Tensor& t, const F& f) {
  static constexpr auto kOnes = [] {
    std::array<float, kChunk> ones{};
    ones.fill(1);
    return ones;
  }();
  for_each_piece(dropout, t.rows(), t.cols(), [&](int64_t r, int64_t begin, int64_t end, const float* scales) {
    for (int64_t c = begin; c < end; c += kChunk)
      f(r, c, std::min(kChunk, end - c), scales ? scales + (c - begin) : kOnes.data());
  });
}

template <typename T>
void activate(const ops::ActivationForward& a) {
  for_each_chunk(a.dropout, a.x, [&](int64_t r, int64_t begin, int64_t count, const float* scales) {
    float value[kChunk];
    widen(row_of<T>(a.x, r) + begin, value, count);
    to_values(a.kind, value, count);
    T* y = row_of<T>(a.y, r) + begin;
#pragma omp simd
    for (int64_t i = 0; i < count; ++i) y[i] = from_float<T>(value[i] * scales[i]);
  });
}

// y tells where x > 0 and the element was kept: there y is x * keep_scale() rounded to T, and elsewhere y is 0. Because
// keep_scale() is at least 1, rounding is monotonic and x is a T, y is not less than x. So not even T's smallest number
// becomes 0. Where x is infinite or NaN, y is the same.
template <typename T>
void relu_gradient(const ops::ActivationBackward& a) {
  const float scale = dropout_keep_scale(a.dropout.rate);
  const bool contiguous = a.y.contiguous() && a.d_y.contiguous() && a.d_x.contiguous();
  for_each_run(contiguous, a.y, [&](int64_t row, int64_t col, int64_t count) {
    const T* y = row_of<T>(a.y, row) + col;
    const T* d_y = row_of<T>(a.d_y, row) + col;
    T* d_x = row_of<T>(a.d_x, row) + col;
#pragma omp simd
    for (int64_t i = 0; i < count; ++i) {
      const float scaled = to_float(d_y[i]) * scale;  // always computed: a loop with branches does not vectorize
      d_x[i] = from_float<T>(to_float(y[i]) != 0.0f ? scaled : 0.0f);
    }
  });
}

template <typename T>
void activation_gradient(const ops::ActivationBackward& a) {
  for_each_chunk(a.dropout, a.x, [&](int64_t r, int64_t begin, int64_t count, const float* scales) {
    float derivative[kChunk];
    widen(row_of<T>(a.x, r) + begin, derivative, count);
    to_derivatives(a.kind, derivative, count);
    const T* d_y = row_of<T>(a.d_y, r) + begin;
    T* d_x = row_of<T>(a.d_x, r) + begin;
#pragma omp simd
    for (int64_t i = 0; i < count; ++i) d_x[i] = from_float<T>(to_float(d_y[i]) * scales[i] * derivative[i]);
  });
}

template <typename T>
void gate_rows(const ops::GatedActivationForward& a) {
  for_each_chunk(a.dropout, a.y, [&](int64_t r, int64_t begin, int64_t count, const float* scales) {
    float gate[kChunk];
    widen(row_of<T>(a.gate, r) + begin, gate, count);
    to_values(a.kind, gate, count);
    const T* value = row_of<T>(a.value, r) + begin;
    T* y = row_of<T>(a.y, r) + begin;
#pragma omp simd
    for (int64_t i = 0; i < count; ++i) y[i] = from_float<T>(gate[i] * to_float(value[i]) * scales[i]);
  });
}

template <typename T>
void gate_gradients(const ops::GatedActivationBackward& a) {
  for_each_chunk(a.dropout, a.d_y, [&](int64_t r, int64_t begin, int64_t count, const float* scales) {
    float gate[kChunk], derivative[kChunk];
    widen(row_of<T>(a.gate, r) + begin, gate, count);
    std::copy_n(gate, count, derivative);
    to_values(a.kind, gate, count);
    to_derivatives(a.kind, derivative, count);
    const T *value = row_of<T>(a.value, r) + begin, *d_y = row_of<T>(a.d_y, r) + begin;
    T *d_gate = row_of<T>(a.d_gate, r) + begin, *d_value = row_of<T>(a.d_value, r) + begin;
#pragma omp simd
    for (int64_t i = 0; i < count; ++i) {
      const float d = to_float(d_y[i]) * scales[i];
      d_gate[i] = from_float<T>(d * to_float(value[i]) * derivative[i]);
      d_value[i] = from_float<T>(d * gate[i]);
    }
  });
}

template <typename X, typename T>
void add_stored(const ops::Add& a) {
  for_each_run(a.x.contiguous() && a.y.contiguous(), a.x, [&](int64_t row, int64_t col, int64_t count) {
    const X* x = row_of<X>(a.x, row) + col;
    T* y = row_of<T>(a.y, row) + col;
#pragma omp simd
    for (int64_t i = 0; i < count; ++i) y[i] = from_float<T>(to_float(y[i]) + to_float(x[i]));
  });
}

template <typename T>
void dropout_add(const ops::DropoutAddForward& a) {
  const float* bias = a.bias.empty() ? nullptr : a.bias.ptr<float>();
  for_each_piece(a.dropout, a.x.rows(), a.x.cols(), [&](int64_t r, int64_t begin, int64_t end, const float* scales) {
    const T* x = row_of<T>(a.x, r);
    const T* residual = row_of<T>(a.residual, r);
    T* y = row_of<T>(a.y, r);
#pragma omp simd
    for (int64_t c = begin; c < end; ++c) {
      const float biased = bias ? to_float(x[c]) + bias[c] : to_float(x[c]);
      const float dropped = scales ? biased * scales[c - begin] : biased;
      y[c] = from_float<T>(residual ? to_float(residual[c]) + dropped : dropped);
    }
  });
}

}  // namespace

void fill(Context&, const ops::Fill& a) {
  const bool streams = worth_streaming(a.x);
  for_storage(a.x.dtype, [&](auto zero) {
    using T = decltype(zero);
    for_each_run(a.x.contiguous(), a.x, [&](int64_t row, int64_t col, int64_t count) {
      T* x = row_of<T>(a.x, row) + col;
      constexpr int64_t kLine = kCacheLine / static_cast<int64_t>(sizeof(T));
      T line[kLine];
#pragma omp simd
      for (int64_t i = 0; i < kLine; ++i) line[i] = from_float<T>(a.value);  // 16-bit copies do not vectorize
      const bool past_caches = streams && begins_line(x);
      int64_t i = 0;
      for (; i + kLine <= count; i += kLine)
        past_caches ? stream_line(x + i, line) : static_cast<void>(std::memcpy(x + i, line, sizeof line));
      for (; i < count; ++i) x[i] = line[0];
      stream_fence();
    });
  });
}

void add(Context&, const ops::Add& a) {
  for_storage(a.y.dtype, [&](auto zero) {
    using T = decltype(zero);
    a.x.dtype == DType::f32 ? add_stored<float, T>(a) : add_stored<T, T>(a);
  });
}

void cast(Context&, const ops::Cast& a) {
  for_storage(a.x.dtype, [&](auto from) {
    for_storage(a.y.dtype, [&](auto to) {
      using X = decltype(from);
      using Y = decltype(to);
      for_each_run(a.x.contiguous() && a.y.contiguous(), a.x, [&](int64_t row, int64_t col, int64_t count) {
        const X* x = row_of<X>(a.x, row) + col;
        Y* y = row_of<Y>(a.y, row) + col;
#pragma omp simd
        for (int64_t i = 0; i < count; ++i) y[i] = from_float<Y>(to_float(x[i]));
      });
    });
  });
}

void activation_forward(Context&, const ops::ActivationForward& a) {
  for_storage(a.x.dtype, [&](auto zero) { activate<decltype(zero)>(a); });
}

void activation_backward(Context&, const ops::ActivationBackward& a) {
  for_storage(a.d_y.dtype, [&](auto zero) {
    using T = decltype(zero);
    a.kind == Activation::relu ? relu_gradient<T>(a) : activation_gradient<T>(a);
  });
}

void gated_activation_forward(Context&, const ops::GatedActivationForward& a) {
  for_storage(a.y.dtype, [&](auto zero) { gate_rows<decltype(zero)>(a); });
}

void gated_activation_backward(Context&, const ops::GatedActivationBackward& a) {
  for_storage(a.d_y.dtype, [&](auto zero) { gate_gradients<decltype(zero)>(a); });
}

void dropout_add_forward(Context&, const ops::DropoutAddForward& a) {
  for_storage(a.y.dtype, [&](auto zero) { dropout_add<decltype(zero)>(a); });
}

void dropout_backward(Context&, const ops::DropoutBackward& a) {
  for_storage(a.d_y.dtype, [&](auto zero) {
    using T = decltype(zero);
    for_each_piece(a.dropout, a.d_y.rows(), a.d_y.cols(),
                   [&](int64_t r, int64_t begin, int64_t end, const float* scales) {
                     const T* d_y = row_of<T>(a.d_y, r);
                     T* d_x = row_of<T>(a.d_x, r);
#pragma omp simd
                     for (int64_t c = begin; c < end; ++c)
                       d_x[c] = scales ? from_float<T>(to_float(d_y[c]) * scales[c - begin]) : d_y[c];
                   });
  });
}

}  // namespace weft::cpu
