// tensor/cpu/adam.cpp: one Adam step over flat parameters.
#include "tensor/cpu/runtime.h"
#include "tensor/half.h"
#include "tensor/op/op_formulas.h"
#include "tensor/ops.h"

namespace weft::cpu {
namespace {

// `after(i, value)` takes the new value of each parameter.
template <typename After>
void adam_each(const ops::Adam& a, After after) {
  const AdamFactors factors = adam_factors(a, *a.scalars);
  const int64_t n = a.param.numel();
  float* param = a.param.ptr<float>();
  const float* grad = a.grad.ptr<float>();
  float* m = a.m.ptr<float>();
  float* v = a.v.ptr<float>();
#pragma omp parallel for simd schedule(static) if (parallel : n >= kWorthThreads)
  for (int64_t i = 0; i < n; ++i) {
    adam_update(factors, grad[i], param[i], m[i], v[i]);
    after(i, param[i]);
  }
}

template <typename Copy>
void adam_with_copy(const ops::Adam& a, Copy copy) {
  if (a.average.empty()) return adam_each(a, copy);
  float* average = a.average.ptr<float>();
  adam_each(a, [copy, average, rate = a.scalars->average_rate](int64_t i, float value) {
    copy(i, value);
    average_update(rate, value, average[i]);
  });
}

}  // namespace

void adam(Context&, const ops::Adam& a) {
  if (a.copy.empty()) return adam_with_copy(a, [](int64_t, float) {});
  for_storage(a.copy.dtype, [&](auto zero) {
    using T = decltype(zero);
    adam_with_copy(a, [copy = a.copy.ptr<T>()](int64_t i, float value) { copy[i] = from_float<T>(value); });
  });
}

}  // namespace weft::cpu
