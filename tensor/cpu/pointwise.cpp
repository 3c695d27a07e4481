// tensor/cpu/pointwise.cpp: elementwise ops: fill, add, cast, activation, dropout.
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

// Calls f(row, first column, count) for runs of elements, in parallel; a contiguous tensor counts as one row.
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

// Calls f(row, begin, end, scales) for chunks of the rows of [rows, cols], in parallel (dropout.h).
template <typename F>
void for_each_piece(const Dropout& dropout, int64_t rows, int64_t cols, const F& f) {
  const DropoutMask mask = dropout.mask();
#pragma omp parallel for schedule(static) if (rows * cols >= kWorthThreads)
  for (int64_t r = 0; r < rows; ++r) {
    for_each_dropout_piece(mask, r, cols,
                           [&](int64_t begin, int64_t end, const float* scales) { f(r, begin, end, scales); });
  }
}

template <typename T, typename F>
void activate(const ops::ActivationForward& a, const F& function) {
  for_each_piece(a.dropout, a.x.rows(), a.x.cols(), [&](int64_t r, int64_t begin, int64_t end, const float* scales) {
    const T* x = row_of<T>(a.x, r);
    T* y = row_of<T>(a.y, r);
    if (scales == nullptr) {
#pragma omp simd
      for (int64_t c = begin; c < end; ++c) y[c] = from_float<T>(function(to_float(x[c])));
    } else {
#pragma omp simd
      for (int64_t c = begin; c < end; ++c) y[c] = from_float<T>(function(to_float(x[c])) * scales[c - begin]);
    }
  });
}

// y alone tells where x > 0 and the element was kept: there it is x * keep_scale() rounded to T, elsewhere 0.
// Since keep_scale() is at least 1 and rounding is monotonic, y is no less than x, which is itself a T: not
// even T's smallest number becomes 0. Where x is infinite or NaN, so is y.
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

template <typename T, typename F>
void activation_gradient(const ops::ActivationBackward& a, const F& derivative) {
  for_each_piece(a.dropout, a.x.rows(), a.x.cols(), [&](int64_t r, int64_t begin, int64_t end, const float* scales) {
    const T* x = row_of<T>(a.x, r);
    const T* d_y = row_of<T>(a.d_y, r);
    T* d_x = row_of<T>(a.d_x, r);
    if (scales == nullptr) {
#pragma omp simd
      for (int64_t c = begin; c < end; ++c) d_x[c] = from_float<T>(to_float(d_y[c]) * derivative(to_float(x[c])));
    } else {
#pragma omp simd
      for (int64_t c = begin; c < end; ++c)
        d_x[c] = from_float<T>(to_float(d_y[c]) * scales[c - begin] * derivative(to_float(x[c])));
    }
  });
}

// The same with scales that are never null: a gate's loop is long, and is compiled once.
template <typename F>
void for_each_scaled_piece(const Dropout& dropout, int64_t rows, int64_t cols, const F& f) {
  static constexpr auto kOnes = [] {
    std::array<float, 256> ones{};
    ones.fill(1);
    return ones;
  }();
  constexpr auto kMost = static_cast<int64_t>(kOnes.size());
  for_each_piece(dropout, rows, cols, [&](int64_t r, int64_t begin, int64_t end, const float* scales) {
    if (scales != nullptr) return f(r, begin, end, scales);
    for (int64_t c = begin; c < end; c += kMost) f(r, c, std::min(c + kMost, end), kOnes.data());
  });
}

template <typename T, typename Function>
void gate_rows(const ops::GatedActivationForward& a) {
  for_each_scaled_piece(
      a.dropout, a.y.rows(), a.y.cols(), [&](int64_t r, int64_t begin, int64_t end, const float* scales) {
        const T *gate = row_of<T>(a.gate, r), *value = row_of<T>(a.value, r);
        T* y = row_of<T>(a.y, r);
#pragma omp simd
        for (int64_t c = begin; c < end; ++c)
          y[c] = from_float<T>(Function::value(to_float(gate[c])) * to_float(value[c]) * scales[c - begin]);
      });
}

template <typename T, typename Function>
void gate_gradients(const ops::GatedActivationBackward& a) {
  for_each_scaled_piece(
      a.dropout, a.d_y.rows(), a.d_y.cols(), [&](int64_t r, int64_t begin, int64_t end, const float* scales) {
        const T *gate = row_of<T>(a.gate, r), *value = row_of<T>(a.value, r), *d_y = row_of<T>(a.d_y, r);
        T *d_gate = row_of<T>(a.d_gate, r), *d_value = row_of<T>(a.d_value, r);
#pragma omp simd
        for (int64_t c = begin; c < end; ++c) {
          const float g = to_float(gate[c]), d = to_float(d_y[c]) * scales[c - begin];
          d_gate[c] = from_float<T>(d * to_float(value[c]) * Function::derivative(g));
          d_value[c] = from_float<T>(d * Function::value(g));
        }
      });
}

template <typename X, typename T>
void dropout_add(const ops::DropoutAddForward& a) {
  const float* bias = a.bias.empty() ? nullptr : a.bias.ptr<float>();
  for_each_piece(a.dropout, a.x.rows(), a.x.cols(), [&](int64_t r, int64_t begin, int64_t end, const float* scales) {
    const X* x = row_of<X>(a.x, r);
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
  for_storage(a.x.dtype, [&](auto zero) {
    using T = decltype(zero);
    for_each_run(a.x.contiguous() && a.y.contiguous(), a.x, [&](int64_t row, int64_t col, int64_t count) {
      const T* x = row_of<T>(a.x, row) + col;
      T* y = row_of<T>(a.y, row) + col;
#pragma omp simd
      for (int64_t i = 0; i < count; ++i) y[i] = from_float<T>(to_float(y[i]) + to_float(x[i]));
    });
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
  for_storage(a.x.dtype, [&](auto zero) {
    with_activation(
        a.kind, [&](auto function) { activate<decltype(zero)>(a, [function](float x) { return function.value(x); }); });
  });
}

void activation_backward(Context&, const ops::ActivationBackward& a) {
  for_storage(a.d_y.dtype, [&](auto zero) {
    using T = decltype(zero);
    if (a.kind == Activation::relu) return relu_gradient<T>(a);
    with_activation(a.kind, [&](auto function) {
      activation_gradient<T>(a, [function](float x) { return function.derivative(x); });
    });
  });
}

void gated_activation_forward(Context&, const ops::GatedActivationForward& a) {
  for_storage(a.y.dtype, [&](auto zero) {
    with_activation(a.kind, [&](auto function) { gate_rows<decltype(zero), decltype(function)>(a); });
  });
}

void gated_activation_backward(Context&, const ops::GatedActivationBackward& a) {
  for_storage(a.d_y.dtype, [&](auto zero) {
    with_activation(a.kind, [&](auto function) { gate_gradients<decltype(zero), decltype(function)>(a); });
  });
}

void dropout_add_forward(Context&, const ops::DropoutAddForward& a) {
  for_storage(a.y.dtype, [&](auto zero) {
    using T = decltype(zero);
    if (a.x.dtype == DType::f32) {
      dropout_add<float, T>(a);
    } else {
      dropout_add<T, T>(a);
    }
  });
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
