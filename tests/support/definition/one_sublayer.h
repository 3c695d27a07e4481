// tests/support/definition/one_sublayer.h: a sublayer f in a residual connection without its norm: y = x + dropout(f(x)
// + b).
#pragma once

#include "model/layers/residual.h"

namespace weft::testing {

// forward(y) and backward(d_y, d_x) are f's; d: gradient of y on entry, of x on return.
template <typename Forward, typename Backward>
void through_sublayer(Pass& p, const ResidualConnection& connection, const Tensor& x, const Tensor& y, const Tensor& d,
                      const Forward& forward, const Backward& backward) {
  const Dropout dropout = connection.dropout(p, x.rows());
  ops::dropout_add_forward(
      p.ctx, {.residual = x, .x = forward(y).sum(), .bias = connection.bias(), .y = y, .dropout = dropout});
  const Tensor d_branch = p.arena.like(d);
  ops::dropout_backward(p.ctx, {.d_y = d, .d_x = d_branch, .dropout = dropout});
  if (!connection.d_bias().empty()) ops::column_sum(p.ctx, {.x = d_branch, .y = connection.d_bias()});
  backward(d_branch, InputGradient{.d = d, .add = true});
}

}  // namespace weft::testing
