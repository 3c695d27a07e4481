// tensor/op/op_cost.h: the bytes and operations of an op's call (OpCost).
#pragma once

#include "tensor/op/op_trace.h"
#include "tensor/ops.h"

namespace weft {

// The cost of a call with these arguments. It reads attention's sentence lengths, so it waits for the device;
// not for dry runs.
#define WEFT_DECLARE_COST(function, Arguments) OpCost cost_of(Context& ctx, const ops::Arguments& a);
WEFT_OPS(WEFT_DECLARE_COST)
#undef WEFT_DECLARE_COST

}  // namespace weft
