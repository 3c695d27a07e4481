// tensor/op_formulas.h: formulas of ops' arguments that every backend shares, each written once (beside math.h, which
// knows of no ops).
#pragma once

#include <cmath>

#include "tensor/math.h"
#include "tensor/ops.h"
#include "tensor/random.h"
#include "tensor/step_state.h"

namespace weft {

// Of a parameter's element with this index in the global tensor.
WEFT_HD inline float initial_value(const ops::Init& a, uint64_t index) {
  if (a.kind == ops::Init::Kind::constant) return a.value;
  if (a.kind == ops::Init::Kind::uniform) {
    return a.value * (2.0f * uniform_from_bits(random_bits(a.seed, index, 0, a.purpose)) - 1.0f);
  }
  const PhiloxBits bits = philox(a.seed, index / 2, 0, a.purpose);  // draws 2 index and 2 index + 1 lie in one group
  const uint64_t lane = 2 * (index & 1);
  return a.value * normal_from_uniforms(uniform_from_bits(bits.v[lane]), uniform_from_bits(bits.v[lane + 1]));
}

inline AdamFactors adam_factors(const ops::Adam& a) {
  const auto step = static_cast<double>(a.step);
  return {.lr = a.lr,
          .beta1 = a.beta1,
          .beta2 = a.beta2,
          .eps = a.eps,
          .weight_decay = a.weight_decay,
          .grad_scale = a.grad_scale,
          .correction1 = static_cast<float>(1.0 - std::pow(static_cast<double>(a.beta1), step)),
          .sqrt_correction2 = static_cast<float>(std::sqrt(1.0 - std::pow(static_cast<double>(a.beta2), step)))};
}

inline void write_factors(const ops::Adam& a, StepState& state) {  // that Adam reads there in place of its own
  const AdamFactors factors = adam_factors(a);
  state.lr = factors.lr;
  state.grad_scale = factors.grad_scale;
  state.correction1 = factors.correction1;
  state.sqrt_correction2 = factors.sqrt_correction2;
}

}  // namespace weft
