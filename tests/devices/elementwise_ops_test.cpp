// tests/devices/elementwise_ops_test.cpp: ops on elements and rows: activations, dropout, norms, Adam, initial values.
#include <cmath>

#include "tests/devices/op_comparison.h"

namespace weft::testing {
namespace {

namespace on = weft::ops;

void compare_fill(RandomArguments& r, OpComparison& devices) {
  devices.expect_same(on::fill, r.complete(on::Fill{.value = 2.5f}));
}

void compare_add(RandomArguments& r, OpComparison& devices) { devices.expect_same(on::add, r.complete(on::Add{})); }

void compare_cast(RandomArguments& r, OpComparison& devices) {
  const Tensor x = r.matrix(r.rows(), r.cols());
  devices.expect_same(on::cast, r.complete(on::Cast{.x = x}), {.sums = 0, .units = 0});
}

void compare_activation_forward(RandomArguments& r, OpComparison& devices) {
  on::ActivationForward a = r.complete(on::ActivationForward{.kind = r.one_of_enum<Activation>()});
  if (r.coin()) a.y = a.x;
  devices.expect_same(on::activation_forward, a, {.dropped_alike = true});
}

void compare_activation_backward(RandomArguments& r, OpComparison& devices) {
  const on::ActivationForward forward = r.complete(on::ActivationForward{.kind = r.one_of_enum<Activation>()});
  on::activation_forward(devices.cpu(), forward);
  on::ActivationBackward a = r.complete(on::ActivationBackward{.x = forward.x, .y = forward.y, .kind = forward.kind});
  a.dropout = forward.dropout;
  if (r.coin()) a.d_x = a.d_y;
  devices.expect_same(on::activation_backward, a, {.dropped_alike = true});
}

void compare_gated_activation_forward(RandomArguments& r, OpComparison& devices) {
  devices.expect_same(on::gated_activation_forward,
                      r.complete(on::GatedActivationForward{.kind = r.one_of_enum<Activation>()}),
                      {.dropped_alike = true});
}

void compare_gated_activation_backward(RandomArguments& r, OpComparison& devices) {
  on::GatedActivationBackward a = r.complete(on::GatedActivationBackward{.kind = r.one_of_enum<Activation>()});
  if (r.coin()) a.d_gate = a.gate, a.d_value = a.value;
  devices.expect_same(on::gated_activation_backward, a, {.dropped_alike = true});
}

void compare_dropout_add_forward(RandomArguments& r, OpComparison& devices) {
  on::DropoutAddForward a = r.complete(on::DropoutAddForward{});
  if (a.x.dtype == r.storage && r.coin())
    a.y = a.x;
  else if (!a.residual.empty() && r.coin())
    a.y = a.residual;
  devices.expect_same(on::dropout_add_forward, a, {.dropped_alike = true});
}

void compare_dropout_backward(RandomArguments& r, OpComparison& devices) {
  on::DropoutBackward a = r.complete(on::DropoutBackward{});
  if (r.coin()) a.d_x = a.d_y;
  devices.expect_same(on::dropout_backward, a, {.dropped_alike = true});
}

// Norms of 8 or more columns multiply by 1 / sqrt(variance), here less than 4. In half precision, rounding
// the sum to the other neighbour moves the norm by as much.
Agreement of_norms(int64_t length) { return {.sums = tolerance(length, 4), .units = 8}; }

void compare_norm_forward(RandomArguments& r, OpComparison& devices) {
  const on::NormForward a = r.complete(on::NormForward{.kind = r.one_of_enum<NormKind>()});
  devices.expect_same(on::norm_forward, a, of_norms(a.x.cols()));
}

on::NormForward computed_norm(RandomArguments& r, OpComparison& devices) {
  const on::NormForward forward = r.complete(on::NormForward{.kind = r.one_of_enum<NormKind>()});
  on::norm_forward(devices.cpu(), forward);
  return forward;
}

void compare_norm_backward(RandomArguments& r, OpComparison& devices) {
  const on::NormForward f = computed_norm(r, devices);
  on::NormBackward a =
      r.complete(on::NormBackward{.x = f.x, .gamma = f.gamma, .mean = f.mean, .rstd = f.rstd, .kind = f.kind});
  if (r.coin())
    a.d_x = a.d_y;
  else if (!a.d_residual.empty() && r.coin())
    a.d_x = a.d_residual;
  devices.expect_same(on::norm_backward, a, of_norms(a.x.rows() + a.x.cols()));
}

void compare_residual_norm_forward(RandomArguments& r, OpComparison& devices) {
  on::ResidualNormForward a = r.complete(on::ResidualNormForward{.kind = r.one_of_enum<NormKind>()});
  if (r.coin())
    a.h = a.residual;
  else if (a.x.dtype == r.storage && r.coin())
    a.h = a.x;
  devices.expect_same(on::residual_norm_forward, a, of_norms(a.x.cols()));
}

void compare_residual_norm_backward(RandomArguments& r, OpComparison& devices) {
  const on::NormForward f = computed_norm(r, devices);
  on::ResidualNormBackward a =
      r.complete(on::ResidualNormBackward{.h = f.x, .gamma = f.gamma, .mean = f.mean, .rstd = f.rstd, .kind = f.kind});
  if (r.coin())
    a.d_h = a.d_y;
  else if (!a.d_residual.empty() && r.coin())
    a.d_h = a.d_residual;
  if (a.dropout.rate <= 0 && r.coin())
    a.d_x = a.d_h;
  else if (a.d_h.data != a.d_y.data && r.coin())
    a.d_x = a.d_y;
  devices.expect_same(on::residual_norm_backward, a, of_norms(a.h.rows() + a.h.cols()));
}

void compare_norm_sums(RandomArguments& r, OpComparison& devices) {
  const int64_t cols = r.cols();
  on::NormSums a;
  for (on::NormSums::Norm& norm : a.norms) {
    if (r.coin()) continue;
    norm.partial = r.floats({on::kNormPartials, r.one_of<int64_t>({2, 3}), cols});
    norm.d_gamma = r.floats({cols}), norm.d_beta = r.maybe(r.floats({cols}));
    if (norm.partial.dim(1) == 3) norm.d_bias = r.maybe(r.floats({cols}));
  }
  devices.expect_same(on::norm_sums, a, {.sums = tolerance(on::kNormPartials)});
}

void compare_update(RandomArguments& r, OpComparison& devices) {
  const int64_t n = r.one_of<int64_t>({1, 17, 1000});
  on::Update a{.param = r.floats({n}), .weight_decay = 0.1f};
  a.rule = static_cast<on::UpdateRule>(r.one_of({0, 1, 2, 3}));
  static_assert(static_cast<int>(on::UpdateRule::descent) == 3, "every rule is compared");
  if (num_moments(a.rule) == 2) {
    a.second = r.floats({n});
    for (int64_t i = 0; i < n; ++i) a.second.ptr<float>()[i] = std::abs(a.second.ptr<float>()[i]) + 1e-3f;
  }
  devices.expect_same(on::update, r.complete(a), {.sums = 1e-6});
}

void compare_scale_add(RandomArguments& r, OpComparison& devices) {
  const int64_t rows = r.rows(), cols = r.cols();
  const auto storage = [&] { return r.one_of({DType::f32, r.storage}); };
  on::ScaleAdd a{.x = r.matrix(rows, cols, storage()), .y = r.matrix(rows, cols, storage()), .alpha = 2};
  if (r.coin()) a.beta = 0.5f;
  if (r.coin()) a.norm_square = r.doubles(r.one_of({0.0, 3.0})), a.eps = 0.25f;
  devices.expect_same(on::scale_add, a, {.sums = 1e-6});
}

void compare_muon_momentum(RandomArguments& r, OpComparison& devices) {
  const int64_t n = r.one_of<int64_t>({1, 17, 1000});
  devices.expect_same(on::muon_momentum, r.complete(on::MuonMomentum{.grad = r.floats({n})}), {.sums = 1e-6});
}

void compare_init(RandomArguments& r, OpComparison& devices) {
  const int64_t outer = r.from(1, 3), dim = r.from(1, 20), inner = r.one_of<int64_t>({1, 7, 16});
  devices.expect_same(on::init,
                      {.x = r.floats({outer * dim * inner}),
                       .outer = outer,
                       .dim = dim,
                       .inner = inner,
                       .begin = r.from(0, 9),
                       .global_dim = dim + r.from(0, 9),
                       .kind = r.one_of({on::Init::Kind::constant, on::Init::Kind::uniform, on::Init::Kind::normal}),
                       .value = 2,
                       .seed = static_cast<uint64_t>(r.from(0, 1 << 30)) << 20,
                       .purpose = 7});
}

constexpr OpCase kElementwiseCases[] = {
    {"fill", compare_fill},
    {"add", compare_add},
    {"cast", compare_cast},
    {"activation_forward", compare_activation_forward},
    {"activation_backward", compare_activation_backward},
    {"gated_activation_forward", compare_gated_activation_forward},
    {"gated_activation_backward", compare_gated_activation_backward},
    {"dropout_add_forward", compare_dropout_add_forward},
    {"dropout_backward", compare_dropout_backward},
    {"norm_forward", compare_norm_forward},
    {"norm_backward", compare_norm_backward},
    {"residual_norm_forward", compare_residual_norm_forward},
    {"residual_norm_backward", compare_residual_norm_backward},
    {"norm_sums", compare_norm_sums},
    {"update", compare_update},
    {"scale_add", compare_scale_add},
    {"muon_momentum", compare_muon_momentum},
    {"init", compare_init},
};

class ElementwiseOps : public ::testing::TestWithParam<OpCase> {};
TEST_P(ElementwiseOps, AreTheSameOnBothDevices) { compare_on_many_arguments(GetParam()); }
INSTANTIATE_TEST_SUITE_P(Random, ElementwiseOps, ::testing::ValuesIn(kElementwiseCases), name_of);

}  // namespace
}  // namespace weft::testing
