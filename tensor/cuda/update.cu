// tensor/cuda/update.cu: runs one step of an optimizer on flat parameters, their rounded copy and their average, with
// clipping, in one pass.
#include "tensor/cuda/groups.cuh"
#include "tensor/op/update_rules.h"
#include "tensor/ops.h"

namespace weft::cuda {

namespace {

template <typename Rule, typename T>
struct UpdateGroup {
  float *param, *first, *second;  // the moments that the rule keeps
  const float* grad;
  T* copy;         // may be null
  float* average;  // may be null
  ops::Update a;

  __device__ void operator()(int64_t, int64_t at, int64_t count) const {
    const UpdateFactors factors = update_factors(a, *a.scalars);
    float g[kGroup], p[kGroup], m[kGroup] = {}, v[kGroup] = {};
    load(grad + at, count, g);
    load(param + at, count, p);
    if constexpr (Rule::kMoments > 0) load(first + at, count, m);
    if constexpr (Rule::kMoments > 1) load(second + at, count, v);
    for (int i = 0; i < kGroup; ++i) Rule::apply(factors, g[i], p[i], m[i], v[i]);
    store(p, param + at, count);
    if constexpr (Rule::kMoments > 0) store(m, first + at, count);
    if constexpr (Rule::kMoments > 1) store(v, second + at, count);
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

void update(Context& ctx, const ops::Update& a) {
  for_rule(a.rule, [&](auto rule) {
    for_storage(a.copy.empty() ? DType::f32 : a.copy.dtype, [&](auto zero) {
      using T = decltype(zero);
      launch_groups(ctx, "update", 1, a.param.numel(),
                    UpdateGroup<decltype(rule), T>{vector_of(a.param), vector_of(a.first), vector_of(a.second),
                                                   vector_of(a.grad), vector_of<T>(a.copy), vector_of(a.average), a});
    });
  });
}

}  // namespace weft::cuda
