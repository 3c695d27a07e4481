// tensor/cuda/muon.cu: computes Muon's momentum over flat parameters, and scaled sums of matrices.
#include "tensor/cuda/groups.cuh"
#include "tensor/op/op_formulas.h"
#include "tensor/ops.h"

namespace weft::cuda {

namespace {

template <typename X, typename Y>
struct ScaleAddGroup {
  Rows<X> x;
  Rows<Y> y;
  ops::ScaleAdd a;
  __device__ void operator()(int64_t row, int64_t col, int64_t count) const {
    const float scale = scale_of(a);
    float in[kGroup], sum[kGroup];
    load(x[row] + col, count, in);
    for (int i = 0; i < kGroup; ++i) sum[i] = 0;
    if (a.beta != 0.0f) load(y[row] + col, count, sum);
    for (int i = 0; i < kGroup; ++i) sum[i] = scale * in[i] + a.beta * sum[i];
    store(sum, y[row] + col, count);
  }
};

struct MuonMomentumGroup {
  float *grad, *m;
  float momentum;
  const StepScalars* scalars;
  __device__ void operator()(int64_t, int64_t at, int64_t count) const {
    float g[kGroup], first[kGroup];
    load(grad + at, count, g);
    load(m + at, count, first);
    for (int i = 0; i < kGroup; ++i) g[i] = muon_momentum_update(momentum, g[i] * scalars->grad_scale, first[i]);
    store(g, grad + at, count);
    store(first, m + at, count);
  }
};

}  // namespace

void scale_add(Context& ctx, const ops::ScaleAdd& a) {
  for_storage(a.x.dtype, [&](auto x) {
    for_storage(a.y.dtype, [&](auto y) {
      using X = decltype(x);
      using Y = decltype(y);
      launch_groups(ctx, "scale_add", extent_of(a.x, a.y), ScaleAddGroup<X, Y>{rows_of<X>(a.x), rows_of<Y>(a.y), a});
    });
  });
}

void muon_momentum(Context& ctx, const ops::MuonMomentum& a) {
  launch_groups(ctx, "muon_momentum", 1, a.grad.numel(),
                MuonMomentumGroup{vector_of(a.grad), vector_of(a.m), a.momentum, a.scalars});
}

}  // namespace weft::cuda
