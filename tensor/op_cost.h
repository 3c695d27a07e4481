// tensor/op_cost.h: what the mathematics of an op needs, whatever the device does: what its rate is counted by.
#pragma once

#include "tensor/context.h"
#include "tensor/ops.h"

namespace weft {

struct OpCost {
  double bytes =
      0;  // read and written: each operand once, one that is added to twice, a table's rows as they are asked
  double flops = 0;  // of matrix products and attention (model/flops.h); 0 for ops that memory bounds
  bool operator==(const OpCost&) const = default;
};

// Of a call with these arguments. Reads the lengths of attention's sentences, so it waits for a device; not of dry
// runs.
#define WEFT_DECLARE_COST(function, Arguments) OpCost cost_of(Context& ctx, const ops::Arguments& a);
WEFT_OPS(WEFT_DECLARE_COST)
#undef WEFT_DECLARE_COST

}  // namespace weft
