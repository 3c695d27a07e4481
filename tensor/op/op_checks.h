// tensor/op/op_checks.h: checks the arguments of every op, in the same way for all backends.
#pragma once

#include "tensor/ops.h"

namespace weft::ops {

// Throws an internal Error if shapes, types or devices do not agree: "gemm: c is f32 [3, 4], expected [3, 5]".
#define WEFT_DECLARE_CHECK(function, Arguments, ...) void check(const Context& ctx, const char* op, const Arguments& a);
WEFT_OPS(WEFT_DECLARE_CHECK)
#undef WEFT_DECLARE_CHECK

}  // namespace weft::ops
