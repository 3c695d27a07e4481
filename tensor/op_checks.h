// tensor/op_checks.h: the arguments of every op are checked once, for all backends.
#pragma once

#include "tensor/ops.h"

namespace weft::ops {

// An internal Error if shapes, types or places do not agree: "gemm: c is f32 [3, 4], expected [3, 5]".
#define WEFT_DECLARE_CHECK(function, Arguments) void check(const Context& ctx, const char* op, const Arguments& a);
WEFT_OPS(WEFT_DECLARE_CHECK)
#undef WEFT_DECLARE_CHECK

}  // namespace weft::ops
