// tensor/cpu/update.cpp: runs one step of an optimizer on flat parameters, their rounded copy and their average.
#include "tensor/op/update_rules.h"

#include "tensor/cpu/runtime.h"
#include "tensor/half.h"
#include "tensor/ops.h"

namespace weft::cpu {
namespace {

// Calls after(i, value) with the new value of each parameter.
template <typename Rule, typename After>
void update_each(const ops::Update& a, After after) {
  const UpdateFactors factors = update_factors(a, *a.scalars);
  const int64_t n = a.param.numel();
  float* param = a.param.ptr<float>();
  const float* grad = a.grad.ptr<float>();
  float* first = a.first.ptr<float>();
  float* second = a.second.ptr<float>();
#pragma omp parallel for simd schedule(static) if (parallel : n >= kWorthThreads)
  for (int64_t i = 0; i < n; ++i) {
    float m = 0, v = 0;
    if constexpr (Rule::kMoments > 0) m = first[i];
    if constexpr (Rule::kMoments > 1) v = second[i];
    Rule::apply(factors, grad[i], param[i], m, v);
    if constexpr (Rule::kMoments > 0) first[i] = m;
    if constexpr (Rule::kMoments > 1) second[i] = v;
    after(i, param[i]);
  }
}

template <typename Rule, typename Copy>
void update_with_copy(const ops::Update& a, Copy copy) {
  if (a.average.empty()) return update_each<Rule>(a, copy);
  float* average = a.average.ptr<float>();
  update_each<Rule>(a, [copy, average, rate = a.scalars->average_rate](int64_t i, float value) {
    copy(i, value);
    average_update(rate, value, average[i]);
  });
}

}  // namespace

void update(Context&, const ops::Update& a) {
  for_rule(a.rule, [&](auto rule) {
    using Rule = decltype(rule);
    if (a.copy.empty()) return update_with_copy<Rule>(a, [](int64_t, float) {});
    for_storage(a.copy.dtype, [&](auto zero) {
      using T = decltype(zero);
      update_with_copy<Rule>(a, [copy = a.copy.ptr<T>()](int64_t i, float value) { copy[i] = from_float<T>(value); });
    });
  });
}

}  // namespace weft::cpu
