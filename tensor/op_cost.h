// tensor/op_cost.h: what a call of an op must move and compute (OpCost).
#pragma once

#include "tensor/op_trace.h"
#include "tensor/ops.h"

namespace weft {

// Of a call with these arguments. Reads the lengths of attention's sentences, so it waits for a device; not of dry
// runs.
#define WEFT_DECLARE_COST(function, Arguments) OpCost cost_of(Context& ctx, const ops::Arguments& a);
WEFT_OPS(WEFT_DECLARE_COST)
#undef WEFT_DECLARE_COST

}  // namespace weft
