// tensor/cuda/pointwise.cu: computes elementwise ops: fill, add, cast, activation, dropout.
#include "tensor/cuda/groups.cuh"
#include "tensor/cuda/residual.cuh"
#include "tensor/math.h"
#include "tensor/ops.h"

namespace weft::cuda {

namespace {

template <typename T>
struct FillGroup {
  Rows<T> x;
  T value;
  __device__ void operator()(int64_t row, int64_t col, int64_t count) const {
    T values[kGroup];
    for (T& v : values) v = value;
    store_stored(values, x[row] + col, count);
  }
};

template <typename X, typename T>
struct AddGroup {
  Rows<X> x;
  Rows<T> y;
  __device__ void operator()(int64_t row, int64_t col, int64_t count) const {
    float sum[kGroup];
    load(y[row] + col, count, sum);
    add_group(x[row] + col, count, sum);
    store(sum, y[row] + col, count);
  }
};

template <typename X, typename Y>
struct CastGroup {
  Rows<X> x;
  Rows<Y> y;
  __device__ void operator()(int64_t row, int64_t col, int64_t count) const {
    float values[kGroup];
    load(x[row] + col, count, values);
    store(values, y[row] + col, count);
  }
};

template <typename Function, typename T>
struct ActivateGroup {
  Rows<T> x, y;
  Dropout dropout;
  __device__ void operator()(int64_t row, int64_t col, int64_t count) const {
    float values[kGroup];
    load(x[row] + col, count, values);
    for (float& v : values) v = Function::value(v);
    drop(dropout.mask(), row, col, values);
    store(values, y[row] + col, count);
  }
};

// y tells where x > 0 and the element was kept (see the proof in tensor/cpu/pointwise.cpp).
template <typename T>
struct ReluGradientGroup {
  Rows<T> y, d_y, d_x;
  float scale;
  __device__ void operator()(int64_t row, int64_t col, int64_t count) const {
    float out[kGroup], d[kGroup];
    load(y[row] + col, count, out);
    load(d_y[row] + col, count, d);
    for (int i = 0; i < kGroup; ++i) d[i] = out[i] != 0.0f ? d[i] * scale : 0.0f;
    store(d, d_x[row] + col, count);
  }
};

template <typename Function, typename T>
struct ActivationGradientGroup {
  Rows<T> x, d_y, d_x;
  Dropout dropout;
  __device__ void operator()(int64_t row, int64_t col, int64_t count) const {
    float in[kGroup], d[kGroup];
    load(x[row] + col, count, in);
    load(d_y[row] + col, count, d);
    drop(dropout.mask(), row, col, d);
    for (int i = 0; i < kGroup; ++i) d[i] *= Function::derivative(in[i]);
    store(d, d_x[row] + col, count);
  }
};

template <typename Function, typename T>
struct GateGroup {
  Rows<T> gate, value, y;
  Dropout dropout;
  __device__ void operator()(int64_t row, int64_t col, int64_t count) const {
    float g[kGroup], v[kGroup];
    load(gate[row] + col, count, g);
    load(value[row] + col, count, v);
    for (int i = 0; i < kGroup; ++i) v[i] *= Function::value(g[i]);
    drop(dropout.mask(), row, col, v);
    store(v, y[row] + col, count);
  }
};

template <typename Function, typename T>
struct GateGradientGroup {
  Rows<T> gate, value, d_y, d_gate, d_value;
  Dropout dropout;
  __device__ void operator()(int64_t row, int64_t col, int64_t count) const {
    float g[kGroup], v[kGroup], d[kGroup];
    load(gate[row] + col, count, g);
    load(value[row] + col, count, v);
    load(d_y[row] + col, count, d);
    drop(dropout.mask(), row, col, d);
    for (int i = 0; i < kGroup; ++i) {
      v[i] *= d[i] * Function::derivative(g[i]);
      d[i] *= Function::value(g[i]);
    }
    store(v, d_gate[row] + col, count);
    store(d, d_value[row] + col, count);
  }
};

template <typename T>
struct DropoutAddGroup {
  ResidualSum<T> in;
  Rows<T> y;
  Dropout dropout;
  __device__ void operator()(int64_t row, int64_t col, int64_t count) const {
    float sum[kGroup];
    in.load_sum(dropout.mask(), row, col, count, sum);
    store(sum, y[row] + col, count);
  }
};

template <typename X, typename T>
void add_stored(Context& ctx, const ops::Add& a) {
  launch_groups(ctx, "add", extent_of(a.x, a.y), AddGroup<X, T>{rows_of<X>(a.x), rows_of<T>(a.y)});
}

}  // namespace

void fill(Context& ctx, const ops::Fill& a) {
  for_storage(a.x.dtype, [&](auto zero) {
    using T = decltype(zero);
    launch_groups(ctx, "fill", extent_of(a.x), FillGroup<T>{rows_of<T>(a.x), from_float<T>(a.value)});
  });
}

void add(Context& ctx, const ops::Add& a) {
  for_storage(a.y.dtype, [&](auto zero) {
    using T = decltype(zero);
    a.x.dtype == DType::f32 ? add_stored<float, T>(ctx, a) : add_stored<T, T>(ctx, a);
  });
}

void cast(Context& ctx, const ops::Cast& a) {
  for_storage(a.x.dtype, [&](auto from) {
    for_storage(a.y.dtype, [&](auto to) {
      using X = decltype(from);
      using Y = decltype(to);
      launch_groups(ctx, "cast", extent_of(a.x, a.y), CastGroup<X, Y>{rows_of<X>(a.x), rows_of<Y>(a.y)});
    });
  });
}

void activation_forward(Context& ctx, const ops::ActivationForward& a) {
  for_storage(a.x.dtype, [&](auto zero) {
    using T = decltype(zero);
    with_activation(a.kind, [&](auto function) {
      launch_groups(ctx, "activation_forward", a.x.rows(), a.x.cols(),
                    ActivateGroup<decltype(function), T>{rows_of<T>(a.x), rows_of<T>(a.y), a.dropout});
    });
  });
}

void activation_backward(Context& ctx, const ops::ActivationBackward& a) {
  for_storage(a.d_y.dtype, [&](auto zero) {
    using T = decltype(zero);
    const Rows<T> d_y = rows_of<T>(a.d_y), d_x = rows_of<T>(a.d_x);
    if (a.kind == Activation::relu)
      return launch_groups(ctx, "activation_backward", extent_of(a.y, a.d_y, a.d_x),
                           ReluGradientGroup<T>{rows_of<T>(a.y), d_y, d_x, dropout_keep_scale(a.dropout.rate)});
    with_activation(a.kind, [&](auto function) {
      launch_groups(ctx, "activation_backward", a.d_y.rows(), a.d_y.cols(),
                    ActivationGradientGroup<decltype(function), T>{rows_of<T>(a.x), d_y, d_x, a.dropout});
    });
  });
}

void gated_activation_forward(Context& ctx, const ops::GatedActivationForward& a) {
  for_storage(a.y.dtype, [&](auto zero) {
    using T = decltype(zero);
    with_activation(a.kind, [&](auto function) {
      launch_groups(
          ctx, "gated_activation_forward", a.y.rows(), a.y.cols(),
          GateGroup<decltype(function), T>{rows_of<T>(a.gate), rows_of<T>(a.value), rows_of<T>(a.y), a.dropout});
    });
  });
}

void gated_activation_backward(Context& ctx, const ops::GatedActivationBackward& a) {
  for_storage(a.d_y.dtype, [&](auto zero) {
    using T = decltype(zero);
    with_activation(a.kind, [&](auto function) {
      launch_groups(ctx, "gated_activation_backward", a.d_y.rows(), a.d_y.cols(),
                    GateGradientGroup<decltype(function), T>{rows_of<T>(a.gate), rows_of<T>(a.value), rows_of<T>(a.d_y),
                                                             rows_of<T>(a.d_gate), rows_of<T>(a.d_value), a.dropout});
    });
  });
}

void dropout_add_forward(Context& ctx, const ops::DropoutAddForward& a) {
  for_storage(a.y.dtype, [&](auto zero) {
    using T = decltype(zero);
    launch_groups(
        ctx, "dropout_add_forward", a.x.rows(), a.x.cols(),
        DropoutAddGroup<T>{{rows_of<T>(a.residual), rows_of<T>(a.x), vector_of(a.bias)}, rows_of<T>(a.y), a.dropout});
  });
}

// The gradient applies the same mask and scale, so it is forward without a residual.
void dropout_backward(Context& ctx, const ops::DropoutBackward& a) {
  dropout_add_forward(ctx, {.x = a.d_y, .y = a.d_x, .dropout = a.dropout});
}

}  // namespace weft::cuda
