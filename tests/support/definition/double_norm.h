// tests/support/definition/double_norm.h: the norms of tensor/op/norm_kind.h in double.
#pragma once

#include <cmath>

#include "tensor/op/norm_kind.h"
#include "tests/support/definition/gradient_check.h"

namespace weft::testing {

// The norm of each row of x, which has as many columns as gamma; beta is read if the kind has it.
inline Doubles double_norm(NormKind kind, double eps, Doubles x, const Doubles& gamma, const Doubles& beta) {
  const bool is_layer = kind == NormKind::layer;
  const size_t cols = gamma.size();
  const double n = static_cast<double>(cols);
  for (size_t r = 0; r < x.size(); r += cols) {
    double mean = 0, variance = 0;
    for (size_t c = 0; is_layer && c < cols; ++c) mean += x[r + c] / n;
    for (size_t c = 0; c < cols; ++c) variance += (x[r + c] - mean) * (x[r + c] - mean) / n;
    for (size_t c = 0; c < cols; ++c)
      x[r + c] = (x[r + c] - mean) / std::sqrt(variance + eps) * gamma[c] + (is_layer ? beta[c] : 0);
  }
  return x;
}

}  // namespace weft::testing
