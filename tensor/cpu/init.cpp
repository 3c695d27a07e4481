// tensor/cpu/init.cpp: sets initial values, which depend only on the element's index in the global tensor.
#include "tensor/cpu/runtime.h"
#include "tensor/op/op_formulas.h"
#include "tensor/ops.h"

namespace weft::cpu {

void init(Context&, const ops::Init& a) {
  float* x = a.x.ptr<float>();
#pragma omp parallel for collapse(2) schedule(static) if (a.x.numel() >= kWorthThreads)
  for (int64_t o = 0; o < a.outer; ++o) {
    for (int64_t i = 0; i < a.dim; ++i) {
      float* run = x + (o * a.dim + i) * a.inner;
      const bool exists = a.begin + i < a.global_dim;
      const int64_t first = (o * a.global_dim + a.begin + i) * a.inner;
      for (int64_t r = 0; r < a.inner; ++r) {
        run[r] = exists ? initial_value(a, static_cast<uint64_t>(first + r)) : 0.0f;
      }
    }
  }
}

}  // namespace weft::cpu
