// tensor/cuda/init.cu: sets initial values, which depend only on the element's index in the global tensor.
#include "tensor/cuda/groups.cuh"
#include "tensor/op/op_formulas.h"
#include "tensor/ops.h"

namespace weft::cuda {

namespace {

struct InitGroup {
  ops::Init a;
  float* x;
  __device__ void operator()(int64_t, int64_t at, int64_t count) const {
    float values[kGroup];
    for (int i = 0; i < kGroup; ++i) {
      const int64_t element = at + i, inner = element % a.inner, run = element / a.inner;
      const int64_t index = a.begin + run % a.dim;  // index along the sliced dimension
      const int64_t global = (run / a.dim * a.global_dim + index) * a.inner + inner;
      values[i] = index < a.global_dim ? initial_value(a, static_cast<uint64_t>(global)) : 0.0f;
    }
    store(values, x + at, count);
  }
};

}  // namespace

void init(Context& ctx, const ops::Init& a) {
  launch_groups(ctx, "init", 1, a.x.numel(), InitGroup{a, vector_of(a.x)});
}

void require_kernels() {
  cudaFuncAttributes attributes{};
  check(cudaFuncGetAttributes(&attributes, reinterpret_cast<const void*>(for_each_group<InitGroup>)),
        "finding the kernels");
}

}  // namespace weft::cuda
