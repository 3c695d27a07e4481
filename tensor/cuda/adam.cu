// tensor/cuda/adam.cu: one Adam step over flat parameters, with clipping, the rounded copy and the average in one pass.
#include "tensor/cuda/groups.cuh"
#include "tensor/op/op_formulas.h"
#include "tensor/ops.h"

namespace weft::cuda {

namespace {

template <typename T>
struct AdamGroup {
  float *param, *m, *v;
  const float* grad;
  T* copy;         // ?
  float* average;  // ?
  ops::Adam a;

  __device__ void operator()(int64_t, int64_t at, int64_t count) const {
    const AdamFactors factors = adam_factors(a, *a.scalars);
    float g[kGroup], p[kGroup], first[kGroup], second[kGroup];
    load(grad + at, count, g);
    load(param + at, count, p);
    load(m + at, count, first);
    load(v + at, count, second);
    for (int i = 0; i < kGroup; ++i) adam_update(factors, g[i], p[i], first[i], second[i]);
    store(p, param + at, count);
    store(first, m + at, count);
    store(second, v + at, count);
    if (copy != nullptr) store(p, copy + at, count);
    if (average != nullptr) {
      float mean[kGroup];
      load(average + at, count, mean);
      for (int i = 0; i < kGroup; ++i) average_update(a.scalars->average_rate, p[i], mean[i]);
      store(mean, average + at, count);
    }
  }
};

}  // namespace

void adam(Context& ctx, const ops::Adam& a) {
  for_storage(a.copy.empty() ? DType::f32 : a.copy.dtype, [&](auto zero) {
    using T = decltype(zero);
    launch_groups(ctx, "adam", 1, a.param.numel(),
                  AdamGroup<T>{vector_of(a.param), vector_of(a.m), vector_of(a.v), vector_of(a.grad),
                               vector_of<T>(a.copy), vector_of(a.average), a});
  });
}

}  // namespace weft::cuda
