// tensor/op/op_cost.h: counts the bytes and FLOPs of a call of an op (OpCost), and lists the call's tensors.
#pragma once

#include "tensor/op/op_trace.h"
#include "tensor/ops.h"

namespace weft {

// cost_of returns the cost of a call with these arguments. For attention, it reads the sentence lengths from the
// device, so it waits. In a dry run, attention counts 0 FLOPs unless its ranges are in host memory.
//
// operands_of returns the tensors in these arguments, for a cost model that needs their shapes.
#define WEFT_DECLARE_COST(function, Arguments, ...)      \
  OpCost cost_of(Context& ctx, const ops::Arguments& a); \
  std::vector<OpTrace::Operand> operands_of(const ops::Arguments& a);
WEFT_OPS(WEFT_DECLARE_COST)
#undef WEFT_DECLARE_COST

}  // namespace weft
