// tensor/op/op_formulas.h: defines formulas that all backends share and that read an op's arguments. Other formulas are
// in math.h.
#pragma once

#include <algorithm>
#include <cmath>

#include "tensor/math.h"
#include "tensor/op/step_scalars.h"
#include "tensor/ops.h"
#include "tensor/random.h"

namespace weft {

// Returns the number of query heads per head of k and v.
template <typename Attention>
int64_t group_size(const Attention& a) {
  return a.kv_heads > 0 ? std::max<int64_t>(a.heads / a.kv_heads, 1) : 1;
}

// Returns the initial value of the element with this index in the global tensor.
WEFT_HD inline float initial_value(const ops::Init& a, uint64_t index) {
  if (a.kind == ops::Init::Kind::constant) return a.value;
  if (a.kind == ops::Init::Kind::uniform) {
    return a.value * (2.0f * uniform_from_bits(random_bits(a.seed, index, 0, a.purpose)) - 1.0f);
  }
  const PhiloxBits bits = philox(a.seed, index / 2, 0, a.purpose);  // draws 2 index and 2 index + 1 share a group
  const uint64_t lane = 2 * (index & 1);
  return a.value * normal_from_uniforms(uniform_from_bits(bits.v[lane]), uniform_from_bits(bits.v[lane + 1]));
}

// Returns alpha / max(norm, eps), the factor of x.
WEFT_HD inline float scale_of(const ops::ScaleAdd& a) {
  if (a.norm_square.data == nullptr) return a.alpha;
  const double norm = std::sqrt(*static_cast<const double*>(a.norm_square.data)), eps = static_cast<double>(a.eps);
  return static_cast<float>(static_cast<double>(a.alpha) / (norm < eps ? eps : norm));
}

}  // namespace weft
