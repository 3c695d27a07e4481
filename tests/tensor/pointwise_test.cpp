// tests/tensor/pointwise_test.cpp: fill, add, activation and dropout compared with loops and finite
// differences.
#include <algorithm>
#include <numeric>

#include "tensor/half.h"
#include "tensor/math.h"
#include "tests/support/definition/activation_value.h"
#include "tests/tensor/workspace.h"

namespace weft::testing {
namespace {

constexpr std::pair<int64_t, int64_t> kPointwiseShapes[] = {{1, 1}, {5, 1}, {1, 9}, {7, 33}, {3, 300}};

TEST(Fill, SetsSlicesAndWholes) {
  Workspace w;
  const Tensor wide = w.zeros({4, 9});
  ops::fill(w.ctx, {.x = wide.slice_cols(2, 3), .value = 2});
  EXPECT_EQ(std::accumulate(wide.ptr<float>(), wide.ptr<float>() + 36, 0.0f), 24.0f);
  ops::fill(w.ctx, {.x = wide, .value = 1});
  EXPECT_EQ(std::accumulate(wide.ptr<float>(), wide.ptr<float>() + 36, 0.0f), 36.0f);
}

TEST(Fill, SetsAllOfWhatGoesPastTheCaches) {
  Workspace w;
  const Tensor x = w.nans({70001}), wide = w.nans({700, 301}), slice = wide.slice_cols(3, 256);
  ops::fill(w.ctx, {.x = x, .value = 2});
  EXPECT_EQ(std::count(x.ptr<float>(), x.ptr<float>() + x.numel(), 2.0f), x.numel());
  ops::fill(w.ctx, {.x = slice, .value = 3});
  EXPECT_EQ(std::count(wide.ptr<float>(), wide.ptr<float>() + wide.numel(), 3.0f), slice.numel());
}

TEST(Add, AddsSlicesAndWholes) {
  Workspace w;
  for (const auto& [rows, cols] : kPointwiseShapes) {
    const Tensor x = w.random_slice(rows, cols), y = w.random({rows, cols});
    Doubles want = to_doubles(y);
    const Doubles add = to_doubles(x);
    for (size_t i = 0; i < want.size(); ++i) want[i] += add[i];
    ops::add(w.ctx, {.x = x, .y = y});
    expect_close(y, want, tolerance(1));
  }
}

TEST(Activation, ForwardAndBackwardMatchTheFormula) {
  Workspace w;
  for (const auto& [name, kind] : enum_names(Activation{})) {
    SCOPED_TRACE(name);
    for (const Dropout& dropout : {Dropout{}, kTestDropout}) {
      for (const auto& [rows, cols] : kPointwiseShapes) {
        const Tensor x = w.random_slice(rows, cols), y = w.nan_slice(rows, cols);
        const Tensor d_y = w.random({rows, cols}), d_x = w.nans({rows, cols});
        ops::activation_forward(w.ctx, {.x = x, .y = y, .kind = kind, .dropout = dropout});
        const Tensor read_x = kind == Activation::relu ? Tensor() : x, read_y = kind == Activation::relu ? y : Tensor();
        ops::activation_backward(w.ctx,
                                 {.x = read_x, .y = read_y, .d_y = d_y, .d_x = d_x, .kind = kind, .dropout = dropout});
        const auto f = [kind = kind](double v) { return activation_value(kind, v); };
        const Doubles in = to_doubles(x), weights = to_doubles(d_y);
        Doubles want(in.size()), d_want(in.size());
        for (size_t i = 0; i < in.size(); ++i) {
          const double factor = dropout_factor(dropout, static_cast<int64_t>(i) / cols, static_cast<int64_t>(i) % cols);
          want[i] = f(in[i]) * factor;
          d_want[i] = weights[i] * factor * (f(in[i] + 1e-6) - f(in[i] - 1e-6)) / 2e-6;
        }
        expect_close(y, want, tolerance(1, 0.1), "y");
        const double factors = kind == Activation::relu || kind == Activation::gelu ? 1 : 3;  // each is rounded
        expect_close(d_x, d_want, factors * tolerance(1, 0.1), "d_x");
        ops::activation_backward(w.ctx,
                                 {.x = read_x, .y = read_y, .d_y = d_y, .d_x = d_y, .kind = kind, .dropout = dropout});
        EXPECT_EQ(values(d_y), values(d_x)) << "in place";
        ops::activation_forward(w.ctx, {.x = x, .y = x, .kind = kind, .dropout = dropout});
        EXPECT_EQ(values(x), values(y)) << "forward in place";
      }
    }
  }
}

TEST(GatedActivation, ForwardAndBackwardMatchTheFormula) {
  Workspace w;
  for (const auto& [name, kind] : enum_names(Activation{})) {
    SCOPED_TRACE(name);
    for (const Dropout& dropout : {Dropout{}, kTestDropout}) {
      for (const auto& [rows, cols] : kPointwiseShapes) {
        const Tensor fused = w.random({rows, 2 * cols}), d_fused = w.nans({rows, 2 * cols});
        const Tensor gate = fused.slice_cols(0, cols), value = fused.slice_cols(cols, cols);
        const Tensor d_gate = d_fused.slice_cols(0, cols), d_value = d_fused.slice_cols(cols, cols);
        const Tensor y = w.nan_slice(rows, cols), d_y = w.random({rows, cols});
        ops::gated_activation_forward(w.ctx, {.gate = gate, .value = value, .y = y, .kind = kind, .dropout = dropout});
        ops::GatedActivationBackward a{.gate = gate,
                                       .value = value,
                                       .d_y = d_y,
                                       .d_gate = d_gate,
                                       .d_value = d_value,
                                       .kind = kind,
                                       .dropout = dropout};
        ops::gated_activation_backward(w.ctx, a);
        const Doubles g = to_doubles(gate), v = to_doubles(value), d = to_doubles(d_y);
        Doubles want(g.size()), want_gate(g.size()), want_value(g.size());
        for (size_t i = 0; i < g.size(); ++i) {
          const double factor = dropout_factor(dropout, static_cast<int64_t>(i) / cols, static_cast<int64_t>(i) % cols);
          want[i] = activation_value(kind, g[i]) * v[i] * factor;
          want_gate[i] = d[i] * factor * v[i] * activation_derivative(kind, g[i]);
          want_value[i] = d[i] * factor * activation_value(kind, g[i]);
        }
        const auto expect = [&](const Tensor& got, const Doubles& wanted, const char* what) {
          const bool all_zero = std::all_of(wanted.begin(), wanted.end(), [](double x) { return x == 0; });
          expect_close(got, wanted, all_zero ? 1e-30 : 3 * tolerance(1, 0.1), what);
        };
        expect(y, want, "y"), expect(d_gate, want_gate, "d_gate"), expect(d_value, want_value, "d_value");
        a.d_gate = gate, a.d_value = value;
        ops::gated_activation_backward(w.ctx, a);
        EXPECT_EQ(values(fused), values(d_fused)) << "in place";
      }
    }
  }
}

// The gradient is computed from y: the smallest number of each storage type must not vanish, nor an overflow.
template <typename T>
void expect_relu_gradient_of_extremes(T smallest, T negative, T largest) {
  Workspace w;
  const std::vector<T> pattern{smallest, negative, T{}, largest};
  const int64_t cols = 64;
  Buffer x_memory(cols * sizeof(T)), d_memory(cols * sizeof(T));
  const Tensor x = x_memory.tensor({1, cols}, DTypeOf<T>::value), d = d_memory.tensor({1, cols}, DTypeOf<T>::value);
  for (int64_t c = 0; c < cols; ++c) x.ptr<T>()[c] = pattern[static_cast<size_t>(c % 4)];
  ops::fill(w.ctx, {.x = d, .value = 1});
  Dropout dropout = kTestDropout;
  dropout.rate = 0.5f;  // kept elements are scaled by 2, which is exact
  ops::activation_forward(w.ctx, {.x = x, .y = x, .kind = Activation::relu, .dropout = dropout});
  ops::activation_backward(w.ctx, {.y = x, .d_y = d, .d_x = d, .kind = Activation::relu, .dropout = dropout});
  for (int64_t c = 0; c < cols; ++c) {
    const bool positive = c % 4 == 0 || c % 4 == 3;
    EXPECT_EQ(to_float(d.ptr<T>()[c]), positive ? dropout_factor(dropout, 0, c) : 0) << name_of(x.dtype) << " " << c;
  }
}

TEST(Activation, ReluGradientSeesTheSmallestAndTheLargestNumbers) {
  constexpr float kSmallest = std::numeric_limits<float>::denorm_min(), kLargest = std::numeric_limits<float>::max();
  expect_relu_gradient_of_extremes<float>(kSmallest, -kSmallest, kLargest);
  expect_relu_gradient_of_extremes<BFloat16>({0x0001}, {0x8001}, {0x7F7F});
  expect_relu_gradient_of_extremes<Float16>({0x0001}, {0x8001}, {0x7BFF});
}

TEST(DropoutAdd, AddsBiasThenDropsThenAddsTheResidual) {
  Workspace w;
  for (const auto& [rows, cols] : kPointwiseShapes) {
    for (int variant = 0; variant < 8; ++variant) {
      const Dropout dropout = variant & 1 ? kTestDropout : Dropout{};
      const Tensor residual = variant & 2 ? w.random_slice(rows, cols) : Tensor();
      const Tensor bias = variant & 4 ? w.random({cols}) : Tensor();
      const Tensor x = w.random_slice(rows, cols), y = w.nan_slice(rows, cols);
      Doubles want = to_doubles(x);
      for (size_t i = 0; i < want.size(); ++i) {
        const auto r = static_cast<int64_t>(i) / cols, c = static_cast<int64_t>(i) % cols;
        if (variant & 4) want[i] += bias.ptr<float>()[c];
        want[i] *= dropout_factor(dropout, r, c);
        if (variant & 2) want[i] += residual.ptr<float>()[r * residual.row_stride + c];
      }
      const ops::DropoutAddForward a{.residual = residual, .x = x, .bias = bias, .y = y, .dropout = dropout};
      ops::dropout_add_forward(w.ctx, a);
      const bool all_dropped = std::all_of(want.begin(), want.end(), [](double v) { return v == 0; });
      expect_close(y, want, all_dropped ? 1e-30 : tolerance(1, 0.2));
      if (variant & 2) {
        auto in_place = a;
        in_place.y = residual;
        ops::dropout_add_forward(w.ctx, in_place);
        EXPECT_EQ(values(residual), values(y)) << "in place of the residual";
      }
    }
  }
}

TEST(DropoutBackward, IsForwardsMaskInPlaceToo) {
  Workspace w;
  const Tensor d_y = w.random({6, 45}), d_x = w.nans({6, 45}), y = w.nans({6, 45});
  ops::dropout_add_forward(w.ctx, {.x = d_y, .y = y, .dropout = kTestDropout});
  ops::dropout_backward(w.ctx, {.d_y = d_y, .d_x = d_x, .dropout = kTestDropout});
  ops::dropout_backward(w.ctx, {.d_y = d_y, .d_x = d_y, .dropout = kTestDropout});
  EXPECT_EQ(values(d_x), values(y));
  EXPECT_EQ(values(d_y), values(y));
}

TEST(Pointwise, IsTheSameOnAnyNumberOfThreads) {
  expect_same_on_any_threads([](Workspace& w) {
    const Tensor x = w.random({137, 65}), y = w.nans({137, 65});
    ops::activation_forward(w.ctx, {.x = x, .y = y, .kind = Activation::gelu, .dropout = kTestDropout});
    ops::dropout_add_forward(w.ctx, {.residual = x, .x = y, .y = y, .dropout = kTestDropout});
    return bytes_of(y);
  });
}

}  // namespace
}  // namespace weft::testing
