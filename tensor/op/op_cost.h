// tensor/op/op_cost.h: the bytes and FLOPs of an op's call (OpCost), and the tensors of its arguments.
#pragma once

#include "tensor/op/op_trace.h"
#include "tensor/ops.h"

namespace weft {

// cost_of returns the cost of a call with these arguments. It reads attention's sentence lengths, so it waits for the
// device. In a dry run attention has FLOPs only if its ranges are in the host's memory.
//
// operands_of returns its tensors, for a cost model that needs their shapes.
#define WEFT_DECLARE_COST(function, Arguments, ...)      \
  OpCost cost_of(Context& ctx, const ops::Arguments& a); \
  std::vector<OpTrace::Operand> operands_of(const ops::Arguments& a);
WEFT_OPS(WEFT_DECLARE_COST)
#undef WEFT_DECLARE_COST

}  // namespace weft
