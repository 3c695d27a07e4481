// tests/support/one_sublayer.h: a residual stream of one sublayer f without a norm: y = x + f(x).
#pragma once

#include "model/layers/residual.h"

namespace weft::testing {

inline const BlockNorms kNoNorm{NormPosition::pre, {nullptr}};

// forward(stream) and backward(gradient) are f's; d: gradient of y on entry, of x on return.
template <typename Forward, typename Backward>
void through_sublayer(Pass& p, const Tensor& x, const Tensor& y, const Tensor& d, const Forward& forward,
                      const Backward& backward) {
  ResidualStream::Saved saved;
  ResidualStream stream(p, kNoNorm, x, y, &saved);
  forward(stream);
  ResidualGradient gradient(p, kNoNorm, d, saved);
  backward(gradient);
  gradient.finish(p);
}

}  // namespace weft::testing
