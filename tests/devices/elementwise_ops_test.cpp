// tests/devices/elementwise_ops_test.cpp: ops on elements and rows: activations, dropout, norms, Adam, initial values.
#include <cmath>

#include "tests/devices/op_comparison.h"

namespace weft::testing {
namespace {

void compare_fill(RandomArguments& r, OpComparison& devices) {
  devices.expect_same(weft::ops::fill, {.x = r.matrix(r.rows(), r.cols()), .value = 2.5f});
}

void compare_add(RandomArguments& r, OpComparison& devices) {
  const int64_t rows = r.rows(), cols = r.cols();
  devices.expect_same(weft::ops::add, {.x = r.matrix(rows, cols), .y = r.matrix(rows, cols)});
}

void compare_cast(RandomArguments& r, OpComparison& devices) {
  const int64_t rows = r.rows(), cols = r.cols();
  const DType to = r.one_of({DType::f32, DType::bf16, DType::f16});
  devices.expect_same(weft::ops::cast, {.x = r.matrix(rows, cols), .y = r.matrix(rows, cols, to)},
                      {.sums = 0, .units = 0});
}

Activation activation(RandomArguments& r) {
  return r.one_of({Activation::relu, Activation::gelu, Activation::gelu_tanh});
}

void compare_activation_forward(RandomArguments& r, OpComparison& devices) {
  const int64_t rows = r.rows(), cols = r.cols();
  const Tensor x = r.matrix(rows, cols);
  expect_same_dropping(devices, weft::ops::activation_forward,
                       {.x = x, .y = r.coin() ? x : r.matrix(rows, cols), .kind = activation(r)}, {r, rows, cols},
                       {.dropped_alike = true});
}

void compare_activation_backward(RandomArguments& r, OpComparison& devices) {
  const int64_t rows = r.rows(), cols = r.cols();
  const Activation kind = activation(r);
  const StatefulDropout dropout(r, rows, cols);
  const Tensor x = r.matrix(rows, cols), y = r.matrix(rows, cols), d_y = r.matrix(rows, cols);
  weft::ops::activation_forward(devices.cpu(), {.x = x, .y = y, .kind = kind, .dropout = dropout.on_cpu});
  expect_same_dropping(devices, weft::ops::activation_backward,
                       {.x = x, .y = y, .d_y = d_y, .d_x = r.coin() ? d_y : r.matrix(rows, cols), .kind = kind},
                       dropout, {.dropped_alike = true});
}

void compare_dropout_add_forward(RandomArguments& r, OpComparison& devices) {
  const int64_t rows = r.rows(), cols = r.cols();
  const Tensor x = r.matrix(rows, cols, r.coin() ? DType::f32 : r.storage), residual = r.maybe(r.matrix(rows, cols));
  const Tensor y = x.dtype == r.storage && r.coin() ? x
                   : !residual.empty() && r.coin()  ? residual
                                                    : r.matrix(rows, cols);
  expect_same_dropping(devices, weft::ops::dropout_add_forward,
                       {.residual = residual, .x = x, .bias = r.maybe(r.floats({cols})), .y = y}, {r, rows, cols},
                       {.dropped_alike = true});
}

void compare_dropout_backward(RandomArguments& r, OpComparison& devices) {
  const int64_t rows = r.rows(), cols = r.cols();
  const Tensor d_y = r.matrix(rows, cols);
  expect_same_dropping(devices, weft::ops::dropout_backward, {.d_y = d_y, .d_x = r.coin() ? d_y : r.matrix(rows, cols)},
                       {r, rows, cols}, {.dropped_alike = true});
}

// Norms of 8 or more columns, which multiply by 1 / sqrt(variance), here less than 4. In halves a neighbour that the
// sum was rounded to moves the norm by as much.
Agreement of_norms(int64_t length) { return {.sums = tolerance(length, 4), .units = 8}; }

void compare_layer_norm_forward(RandomArguments& r, OpComparison& devices) {
  const int64_t rows = r.rows(), cols = r.cols();
  devices.expect_same(weft::ops::layer_norm_forward,
                      {.x = r.matrix(rows, cols),
                       .gamma = r.floats({cols}),
                       .beta = r.floats({cols}),
                       .y = r.matrix(rows, cols),
                       .mean = r.floats({rows}),
                       .rstd = r.floats({rows})},
                      of_norms(cols));
}

void compare_layer_norm_backward(RandomArguments& r, OpComparison& devices) {
  const int64_t rows = r.rows(), cols = r.cols();
  const Tensor x = r.matrix(rows, cols), gamma = r.floats({cols}), mean = r.floats({rows}), rstd = r.floats({rows});
  weft::ops::layer_norm_forward(
      devices.cpu(),
      {.x = x, .gamma = gamma, .beta = r.floats({cols}), .y = r.matrix(rows, cols), .mean = mean, .rstd = rstd});
  const Tensor d_y = r.matrix(rows, cols), d_residual = r.maybe(r.matrix(rows, cols));
  devices.expect_same(weft::ops::layer_norm_backward,
                      {.d_y = d_y,
                       .x = x,
                       .gamma = gamma,
                       .mean = mean,
                       .rstd = rstd,
                       .d_residual = d_residual,
                       .d_x = r.coin()                          ? d_y
                              : !d_residual.empty() && r.coin() ? d_residual
                                                                : r.matrix(rows, cols),
                       .d_gamma = r.floats({cols}),
                       .d_beta = r.floats({cols}),
                       .partial = r.floats({weft::ops::kLayerNormPartials, 2, cols})},
                      of_norms(rows + cols));
}

void compare_residual_norm_forward(RandomArguments& r, OpComparison& devices) {
  const int64_t rows = r.rows(), cols = r.cols();
  const Tensor residual = r.matrix(rows, cols), x = r.matrix(rows, cols, r.coin() ? DType::f32 : r.storage);
  const Tensor h = r.coin() ? residual : x.dtype == r.storage && r.coin() ? x : r.matrix(rows, cols);
  expect_same_dropping(devices, weft::ops::residual_norm_forward,
                       {.residual = residual,
                        .x = x,
                        .bias = r.maybe(r.floats({cols})),
                        .gamma = r.floats({cols}),
                        .beta = r.floats({cols}),
                        .h = h,
                        .y = r.matrix(rows, cols),
                        .mean = r.floats({rows}),
                        .rstd = r.floats({rows})},
                       {r, rows, cols}, of_norms(cols));
}

void compare_residual_norm_backward(RandomArguments& r, OpComparison& devices) {
  const int64_t rows = r.rows(), cols = r.cols();
  const StatefulDropout dropout(r, rows, cols);
  const Tensor h = r.matrix(rows, cols), gamma = r.floats({cols}), mean = r.floats({rows}), rstd = r.floats({rows});
  weft::ops::layer_norm_forward(
      devices.cpu(),
      {.x = h, .gamma = gamma, .beta = r.floats({cols}), .y = r.matrix(rows, cols), .mean = mean, .rstd = rstd});
  const Tensor d_y = r.matrix(rows, cols), d_residual = r.maybe(r.matrix(rows, cols));
  const Tensor d_h = r.coin() ? d_y : !d_residual.empty() && r.coin() ? d_residual : r.matrix(rows, cols);
  expect_same_dropping(devices, weft::ops::residual_norm_backward,
                       {.d_y = d_y,
                        .h = h,
                        .gamma = gamma,
                        .mean = mean,
                        .rstd = rstd,
                        .d_residual = d_residual,
                        .d_h = d_h,
                        .d_x = dropout.on_cpu.rate <= 0 && r.coin() ? d_h : r.matrix(rows, cols),
                        .d_gamma = r.floats({cols}),
                        .d_beta = r.floats({cols}),
                        .d_bias = r.maybe(r.floats({cols})),
                        .partial = r.floats({weft::ops::kLayerNormPartials, 3, cols})},
                       dropout, of_norms(rows + cols));
}

void compare_adam(RandomArguments& r, OpComparison& devices) {
  const int64_t n = r.one_of<int64_t>({1, 17, 1000});
  const Tensor v = r.floats({n}), copy = r.matrix(1, n, r.storage == DType::f32 ? DType::bf16 : r.storage);
  for (int64_t i = 0; i < n; ++i) v.ptr<float>()[i] = std::abs(v.ptr<float>()[i]) + 1e-3f;
  weft::ops::Adam on_cpu{.param = r.floats({n}),
                         .grad = r.floats({n}),
                         .m = r.floats({n}),
                         .v = v,
                         .copy = r.coin() && copy.contiguous() ? Tensor(copy.data, {n}, copy.dtype) : Tensor(),
                         .lr = 0.01f,
                         .weight_decay = 0.1f,
                         .grad_scale = 0.5f,
                         .step = r.from(1, 20)};
  weft::ops::Adam on_gpu = on_cpu;
  if (r.coin()) {
    const double step = static_cast<double>(on_cpu.step);
    StepState& state = r.state();
    state.lr = on_cpu.lr, state.grad_scale = on_cpu.grad_scale;
    state.correction1 = static_cast<float>(1 - std::pow(static_cast<double>(on_cpu.beta1), step));
    state.sqrt_correction2 = static_cast<float>(std::sqrt(1 - std::pow(static_cast<double>(on_cpu.beta2), step)));
    on_gpu.state = &state, on_gpu.lr = on_gpu.grad_scale = 1e9f, on_gpu.step = 1000;
  }
  devices.expect_same(weft::ops::adam, on_cpu, on_gpu, {.sums = 1e-6});
}

void compare_init(RandomArguments& r, OpComparison& devices) {
  const int64_t outer = r.from(1, 3), dim = r.from(1, 20), inner = r.one_of<int64_t>({1, 7, 16});
  devices.expect_same(weft::ops::init,
                      {.x = r.floats({outer * dim * inner}),
                       .outer = outer,
                       .dim = dim,
                       .inner = inner,
                       .begin = r.from(0, 9),
                       .global_dim = dim + r.from(0, 9),
                       .kind = r.one_of({weft::ops::Init::Kind::constant, weft::ops::Init::Kind::uniform,
                                         weft::ops::Init::Kind::normal}),
                       .value = 2,
                       .seed = static_cast<uint64_t>(r.from(0, 1 << 30)) << 20,
                       .purpose = 7});
}

constexpr OpCase kCases[] = {
    {"fill", compare_fill},
    {"add", compare_add},
    {"cast", compare_cast},
    {"activation_forward", compare_activation_forward},
    {"activation_backward", compare_activation_backward},
    {"dropout_add_forward", compare_dropout_add_forward},
    {"dropout_backward", compare_dropout_backward},
    {"layer_norm_forward", compare_layer_norm_forward},
    {"layer_norm_backward", compare_layer_norm_backward},
    {"residual_norm_forward", compare_residual_norm_forward},
    {"residual_norm_backward", compare_residual_norm_backward},
    {"adam", compare_adam},
    {"init", compare_init},
};

class ElementwiseOps : public ::testing::TestWithParam<OpCase> {};
TEST_P(ElementwiseOps, AreTheSameOnBothDevices) { compare_on_many_arguments(GetParam()); }
INSTANTIATE_TEST_SUITE_P(Random, ElementwiseOps, ::testing::ValuesIn(kCases), name_of);

}  // namespace
}  // namespace weft::testing
