// tensor/cpu/muon.cpp: computes Muon's momentum over flat parameters, and scaled sums of matrices.
#include <algorithm>

#include "tensor/cpu/runtime.h"
#include "tensor/half.h"
#include "tensor/op/op_formulas.h"
#include "tensor/ops.h"

namespace weft::cpu {

namespace {

template <typename X, typename Y>
void scale_and_add(const ops::ScaleAdd& a) {
  const bool flat = a.x.contiguous() && a.y.contiguous();
  constexpr int64_t kRun = 4096;
  const int64_t numel = a.x.numel(), cols = flat ? std::min(kRun, numel) : a.x.cols();
  const int64_t runs = flat ? (numel + kRun - 1) / kRun : a.x.rows();
  const float scale = scale_of(a), beta = a.beta;
#pragma omp parallel for schedule(static) if (numel >= kWorthThreads)
  for (int64_t r = 0; r < runs; ++r) {
    const X* x = a.x.ptr<X>() + (flat ? r * kRun : r * a.x.row_stride);
    Y* y = a.y.ptr<Y>() + (flat ? r * kRun : r * a.y.row_stride);
    const int64_t count = flat ? std::min(kRun, numel - r * kRun) : cols;
    if (beta == 0.0f) {
#pragma omp simd
      for (int64_t i = 0; i < count; ++i) y[i] = from_float<Y>(scale * to_float(x[i]));
    } else {
#pragma omp simd
      for (int64_t i = 0; i < count; ++i) y[i] = from_float<Y>(scale * to_float(x[i]) + beta * to_float(y[i]));
    }
  }
}

}  // namespace

void scale_add(Context&, const ops::ScaleAdd& a) {
  for_storage(a.x.dtype,
              [&](auto x) { for_storage(a.y.dtype, [&](auto y) { scale_and_add<decltype(x), decltype(y)>(a); }); });
}

void muon_momentum(Context&, const ops::MuonMomentum& a) {
  const int64_t n = a.grad.numel();
  const float scale = a.scalars->grad_scale, momentum = a.momentum;
  float* grad = a.grad.ptr<float>();
  float* m = a.m.ptr<float>();
#pragma omp parallel for simd schedule(static) if (parallel : n >= kWorthThreads)
  for (int64_t i = 0; i < n; ++i) grad[i] = muon_momentum_update(momentum, grad[i] * scale, m[i]);
}

}  // namespace weft::cpu
