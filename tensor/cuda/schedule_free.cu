// tensor/cuda/schedule_free.cu: one step of schedule-free AdamW over flat parameters, with clipping and the rounded
// copy in one pass.
#include "tensor/cuda/groups.cuh"
#include "tensor/op/op_formulas.h"
#include "tensor/ops.h"

namespace weft::cuda {

namespace {

template <typename T>
struct ScheduleFreeGroup {
  float *param, *z, *v;
  const float* grad;
  T* copy;  // ?
  ops::ScheduleFree a;

  __device__ void operator()(int64_t, int64_t at, int64_t count) const {
    const ScheduleFreeFactors factors = schedule_free_factors(a, *a.scalars);
    float g[kGroup], p[kGroup], steps[kGroup], squares[kGroup];
    load(grad + at, count, g);
    load(param + at, count, p);
    load(z + at, count, steps);
    load(v + at, count, squares);
    for (int i = 0; i < kGroup; ++i) schedule_free_update(factors, g[i], p[i], steps[i], squares[i]);
    store(p, param + at, count);
    store(steps, z + at, count);
    store(squares, v + at, count);
    if (copy != nullptr) store(p, copy + at, count);
  }
};

}  // namespace

void schedule_free(Context& ctx, const ops::ScheduleFree& a) {
  for_storage(a.copy.empty() ? DType::f32 : a.copy.dtype, [&](auto zero) {
    using T = decltype(zero);
    launch_groups(ctx, "schedule_free", 1, a.param.numel(),
                  ScheduleFreeGroup<T>{vector_of(a.param), vector_of(a.z), vector_of(a.v), vector_of(a.grad),
                                       vector_of<T>(a.copy), a});
  });
}

}  // namespace weft::cuda
