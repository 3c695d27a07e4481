// tests/parity/formulas_test.cpp: the scalar formulas of tensor/math.h in double equal PyTorch's in f64.
#include <gtest/gtest.h>

#include "tensor/math.h"
#include "tensor/op/activation.h"
#include "tensor/op/update_rules.h"
#include "tests/parity/reference_file.h"
#include "tests/support/compare.h"

namespace weft::testing {
namespace {

constexpr double kRounding = 1e-12;

TEST(PytorchFormulas, GeluAndItsDerivative) {
  const ReferenceFile file("formulas.h5", "gelu");
  std::vector<double> y, derivative;
  using Gelu = ActivationFunction<Activation::gelu>;
  for (double x : file.numbers("x")) y.push_back(Gelu::value(x)), derivative.push_back(Gelu::derivative(x));
  expect_close_in_norm(y, file.numbers("y"), kRounding, 0, "gelu");
  expect_close_in_norm(derivative, file.numbers("derivative"), kRounding, 0, "gelu's derivative");
}

TEST(PytorchFormulas, SmoothedCrossEntropyAndItsGradient) {
  const ReferenceFile file("formulas.h5", "cross_entropy");
  const std::vector<double> logits = file.numbers("logits");
  const std::vector<int32_t> targets = file.integers("targets");
  const size_t vocabulary = logits.size() / targets.size();
  const LabelSmoothing<double> smoothing(0.1, static_cast<int64_t>(vocabulary));
  std::vector<double> loss, nll, gradient;
  for (size_t r = 0; r < targets.size(); ++r) {
    const auto target = static_cast<size_t>(targets[r]);
    SoftmaxRow<double> row;
    for (size_t v = 0; v < vocabulary; ++v) {
      const double logit = logits[r * vocabulary + v];
      row = merge(row, SoftmaxRow<double>{logit, 1, logit, v == target ? logit : 0});
    }
    loss.push_back(smoothed_cross_entropy(row, smoothing));
    nll.push_back(negative_log_likelihood(row));
    for (size_t v = 0; v < vocabulary; ++v)
      gradient.push_back(cross_entropy_gradient(logits[r * vocabulary + v], row.max, 1 / row.sum_exp,
                                                v == target ? smoothing.on_target : smoothing.elsewhere));
  }
  expect_close_in_norm(loss, file.numbers("loss"), kRounding, 0, "loss");
  expect_close_in_norm(nll, file.numbers("nll"), kRounding, 0, "nll");
  expect_close_in_norm(gradient, file.numbers("gradient"), kRounding, 0, "gradient");
}

// UpdateFactors are f32: the file's constants are f32 values, but the bias corrections of later steps are not.
TEST(PytorchFormulas, AdamWithDecoupledDecay) {
  const ReferenceFile file("formulas.h5", "adam");
  const std::vector<double> gradients = file.numbers("gradients"), params = file.numbers("params");
  const size_t steps = 10, n = gradients.size() / steps;
  const double beta1 = file.number("beta1"), beta2 = file.number("beta2");
  std::vector<double> param(params.begin(), params.begin() + static_cast<std::ptrdiff_t>(n)), m(n), v(n);
  for (size_t step = 1; step <= steps; ++step) {
    const double power = static_cast<double>(step);
    const UpdateFactors factors{.lr = static_cast<float>(file.number("lr")),
                                .beta1 = static_cast<float>(beta1),
                                .beta2 = static_cast<float>(beta2),
                                .eps = static_cast<float>(file.number("eps")),
                                .weight_decay = static_cast<float>(file.number("weight_decay")),
                                .grad_scale = 1,
                                .correction1 = static_cast<float>(1 - std::pow(beta1, power)),
                                .sqrt_correction2 = static_cast<float>(std::sqrt(1 - std::pow(beta2, power)))};
    std::vector<double> change, want;
    for (size_t i = 0; i < n; ++i) {
      const double before = param[i];
      AdamRule::apply(factors, gradients[(step - 1) * n + i], param[i], m[i], v[i]);
      change.push_back(param[i] - before);
      want.push_back(params[step * n + i] - params[(step - 1) * n + i]);
    }
    expect_close_in_norm(change, want, step == 1 ? kRounding : 1e-6, 0,
                         ("change of step " + std::to_string(step)).c_str());
  }
}

}  // namespace
}  // namespace weft::testing
