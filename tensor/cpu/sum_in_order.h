// tensor/cpu/sum_in_order.h: elementwise sum or maximum of several arrays in host memory, always in the order of the
// arrays. Collectives combine the ranks' parts with it.
//
// It is here, not with the collectives, because this folder is compiled for each level of processors.
#pragma once

#include <cstdint>
#include <span>

#include "tensor/dtype.h"

namespace weft {

// Computes out[i] = parts[0][i] + parts[1][i] + ...; `out` may be one of the parts. bf16 and f16 are added in f32, and
// rounded once.
void sum_in_order(DType dtype, std::span<const void* const> parts, int64_t count, void* out);

// Computes the maximum instead of the sum; a NaN wins. REQUIRES: not bf16 or f16.
void max_in_order(DType dtype, std::span<const void* const> parts, int64_t count, void* out);

}  // namespace weft
