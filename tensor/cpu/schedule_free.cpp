// tensor/cpu/schedule_free.cpp: one step of schedule-free AdamW over flat parameters.
#include "tensor/cpu/runtime.h"
#include "tensor/half.h"
#include "tensor/op/op_formulas.h"
#include "tensor/ops.h"

namespace weft::cpu {

void schedule_free(Context&, const ops::ScheduleFree& a) {
  const ScheduleFreeFactors factors = schedule_free_factors(a, *a.scalars);
  const int64_t n = a.param.numel();
  float* param = a.param.ptr<float>();
  const float* grad = a.grad.ptr<float>();
  float* z = a.z.ptr<float>();
  float* v = a.v.ptr<float>();
  if (a.copy.empty()) {
#pragma omp parallel for simd schedule(static) if (parallel : n >= kWorthThreads)
    for (int64_t i = 0; i < n; ++i) schedule_free_update(factors, grad[i], param[i], z[i], v[i]);
    return;
  }
  for_storage(a.copy.dtype, [&](auto zero) {
    using T = decltype(zero);
    T* copy = a.copy.ptr<T>();
#pragma omp parallel for simd schedule(static) if (parallel : n >= kWorthThreads)
    for (int64_t i = 0; i < n; ++i) {
      schedule_free_update(factors, grad[i], param[i], z[i], v[i]);
      copy[i] = from_float<T>(param[i]);
    }
  });
}

}  // namespace weft::cpu
