// tensor/cpu/init.cpp: initial values, each a function of the element's index in the global tensor.
#include "tensor/cpu/runtime.h"
#include "tensor/math.h"
#include "tensor/ops.h"

namespace weft::cpu {

namespace {

float initial_value(const ops::Init& a, uint64_t index) {
  if (a.kind == ops::Init::Kind::constant) return a.value;
  if (a.kind == ops::Init::Kind::uniform) {
    return a.value * (2.0f * uniform_from_bits(random_bits(a.seed, index, 0, a.purpose)) - 1.0f);
  }
  const PhiloxBits bits = philox(a.seed, index / 2, 0, a.purpose);  // draws 2 index and 2 index + 1 lie in one group
  const uint64_t lane = 2 * (index & 1);
  return a.value * normal_from_uniforms(uniform_from_bits(bits.v[lane]), uniform_from_bits(bits.v[lane + 1]));
}

}  // namespace

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
