// tests/support/block_loss.h: the sums of a block's row losses, read at once.
#pragma once

#include "model/loss.h"

namespace weft::testing {

inline BlockLoss sum_of(Context& ctx, const RowLoss& rows) {
  const LossTotal total(ctx.device());
  total.add(ctx, rows);
  return total.read(ctx);
}

}  // namespace weft::testing
