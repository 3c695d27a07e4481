// tensor/cpu/adam.cpp: one Adam step over flat parameters.
#include <algorithm>
#include <cmath>

#include "tensor/cpu/runtime.h"
#include "tensor/half.h"
#include "tensor/math.h"
#include "tensor/ops.h"

namespace weft::cpu {

void adam(Context&, const ops::Adam& a) {
  const double step = static_cast<double>(a.step);
  const AdamFactors factors{
      .lr = a.lr,
      .beta1 = a.beta1,
      .beta2 = a.beta2,
      .eps = a.eps,
      .weight_decay = a.weight_decay,
      .grad_scale = a.grad_scale,
      .correction1 = static_cast<float>(1.0 - std::pow(static_cast<double>(a.beta1), step)),
      .sqrt_correction2 = static_cast<float>(std::sqrt(1.0 - std::pow(static_cast<double>(a.beta2), step)))};
  const int64_t n = a.param.numel();
  float* param = a.param.ptr<float>();
  const float* grad = a.grad.ptr<float>();
  float* m = a.m.ptr<float>();
  float* v = a.v.ptr<float>();
  if (a.copy.empty()) {
#pragma omp parallel for simd schedule(static) if (parallel : n >= kWorthThreads)
    for (int64_t i = 0; i < n; ++i) adam_update(factors, grad[i], param[i], m[i], v[i]);
    return;
  }
  for_storage(a.copy.dtype, [&](auto zero) {
    using T = decltype(zero);
    T* copy = a.copy.ptr<T>();
#pragma omp parallel for simd schedule(static) if (parallel : n >= kWorthThreads)
    for (int64_t i = 0; i < n; ++i) {
      adam_update(factors, grad[i], param[i], m[i], v[i]);
      copy[i] = from_float<T>(param[i]);
    }
  });
}

}  // namespace weft::cpu
