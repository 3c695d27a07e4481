// tensor/op/update_rules.h: defines how each optimizer updates one element (ops::Update), on all devices.
//
// A rule is a struct with kMoments, the number of moments that it keeps from earlier steps, and apply(factors,
// gradient, parameter, first moment, second moment). A new rule also needs a line in ops::UpdateRule and in for_rule().
#pragma once

#include <cmath>

#include "tensor/math.h"
#include "tensor/op/step_scalars.h"
#include "tensor/ops.h"

namespace weft {

struct UpdateFactors {
  float lr, beta1, beta2, eps, weight_decay, grad_scale, correction1, sqrt_correction2, mean_weight;
};

WEFT_HD inline UpdateFactors update_factors(const ops::Update& a, const StepScalars& scalars) {
  return {.lr = scalars.lr,
          .beta1 = a.beta1,
          .beta2 = a.beta2,
          .eps = a.eps,
          .weight_decay = a.weight_decay,
          .grad_scale = scalars.grad_scale,
          .correction1 = scalars.correction1,
          .sqrt_correction2 = scalars.sqrt_correction2,
          .mean_weight = scalars.mean_weight};
}

// Adam (Kingma & Ba 2015) with decoupled weight decay (Loshchilov & Hutter 2019). eps is added after the square root of
// the bias-corrected second moment, as in PyTorch.
struct AdamRule {
  static constexpr int kMoments = 2;
  template <typename T>
  WEFT_HD static void apply(const UpdateFactors& f, T grad, T& param, T& m, T& v) {
    const T g = grad * T(f.grad_scale);
    m = T(f.beta1) * m + (T(1) - T(f.beta1)) * g;
    v = T(f.beta2) * v + (T(1) - T(f.beta2)) * g * g;
    const T denominator = std::sqrt(v) / T(f.sqrt_correction2) + T(f.eps);
    param -= T(f.lr) * (m / T(f.correction1) / denominator + T(f.weight_decay) * param);
  }
};

// Lion (Chen et al. 2023, "Symbolic Discovery of Optimization Algorithms", program 1). Every element moves by the
// learning rate, opposite to the sign of a momentum that is one step ahead of the stored momentum.
struct LionRule {
  static constexpr int kMoments = 1;
  template <typename T>
  WEFT_HD static void apply(const UpdateFactors& f, T grad, T& param, T& m, T&) {
    const T g = grad * T(f.grad_scale);
    const T ahead = T(f.beta1) * m + (T(1) - T(f.beta1)) * g;
    m = T(f.beta2) * m + (T(1) - T(f.beta2)) * g;
    const T sign = ahead > T(0) ? T(1) : ahead < T(0) ? T(-1) : ahead;  // NaN remains NaN
    param -= T(f.lr) * (sign + T(f.weight_decay) * param);
  }
};

// Schedule-free AdamW (Defazio et al. 2024, "The Road Less Scheduled"). Gradients are computed at the parameters y. The
// first moment stores z, to which AdamW's steps are applied. The weighted mean x of all z is the model that is
// evaluated. If c is the new z's weight in the mean, then
//   d = g / (sqrt(v^) + eps) + weight_decay y,  z -= lr d,  x = (1 - c) x + c z,  y = (1 - beta1) z + beta1 x
// The code updates y directly, because x is not stored.
struct ScheduleFreeRule {
  static constexpr int kMoments = 2;
  template <typename T>
  WEFT_HD static void apply(const UpdateFactors& f, T grad, T& y, T& z, T& v) {
    const T g = grad * T(f.grad_scale), c = T(f.mean_weight);
    v = T(f.beta2) * v + (T(1) - T(f.beta2)) * g * g;
    const T d = g / (std::sqrt(v) / T(f.sqrt_correction2) + T(f.eps)) + T(f.weight_decay) * y;
    y += c * (z - y) - T(f.lr) * (T(1) - T(f.beta1) * (T(1) - c)) * d;
    z -= T(f.lr) * d;
  }
};

// Moves along a given direction, such as Muon's, instead of the gradient.
struct DescentRule {
  static constexpr int kMoments = 0;
  template <typename T>
  WEFT_HD static void apply(const UpdateFactors& f, T direction, T& param, T&, T&) {
    param -= T(f.lr) * (direction + T(f.weight_decay) * param);
  }
};

// Calls body(Rule()), where Rule is the struct of `rule`.
template <typename Body>
constexpr auto for_rule(ops::UpdateRule rule, const Body& body) {
  switch (rule) {
    case ops::UpdateRule::adam:
      return body(AdamRule());
    case ops::UpdateRule::lion:
      return body(LionRule());
    case ops::UpdateRule::schedule_free:
      return body(ScheduleFreeRule());
    case ops::UpdateRule::descent:
      return body(DescentRule());
  }
  return body(AdamRule());
}

constexpr int num_moments(ops::UpdateRule rule) {
  return for_rule(rule, [](auto of) { return decltype(of)::kMoments; });
}

// Sets Adam's bias corrections for step t >= 1 (Kingma & Ba 2015, algorithm 1).
inline void set_adam_corrections(StepScalars& scalars, float beta1, float beta2, int64_t t) {
  const auto steps = static_cast<double>(t);
  scalars.correction1 = static_cast<float>(1.0 - std::pow(static_cast<double>(beta1), steps));
  scalars.sqrt_correction2 = static_cast<float>(std::sqrt(1.0 - std::pow(static_cast<double>(beta2), steps)));
}

}  // namespace weft
