// tensor/cpu/sum_in_order.h: computes the elementwise sum or maximum of several arrays in host memory, always in the
// order of the arrays. Collectives use it to combine the ranks' parts.
//
// This file is not next to the collectives, because only tensor/cpu is compiled for each level of processors.
#pragma once

#include <cstdint>
#include <span>

#include "tensor/dtype.h"

namespace weft {

// Computes out[i] = parts[0][i] + parts[1][i] + ...; `out` may be one of the parts. bf16 and f16 are added in f32, and
// rounded once.
void sum_in_order(DType dtype, std::span<const void* const> parts, int64_t count, void* out);

// Computes the maximum instead of the sum, or NaN if any part is NaN. REQUIRES: f32, f64 or i32.
void max_in_order(DType dtype, std::span<const void* const> parts, int64_t count, void* out);

}  // namespace weft
