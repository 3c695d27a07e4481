// tensor/cpu/gemm/gemm_tiles.h: products of bf16 matrices on AMX tiles; an element's sum runs over the depth in order,
// in f32, whatever the shape, the rows beside it and the number of threads.
#pragma once

#include <cstddef>

#include "tensor/ops.h"

namespace weft::cpu {

// Whether this program holds these kernels and the processor runs them.
bool has_gemm_tiles();

// a, b bf16; c bf16 or f32; has_gemm_tiles() holds. `scratch`: gemm_tiles_scratch(a) bytes, aligned to 64.
size_t gemm_tiles_scratch(const ops::Gemm& a);
void gemm_tiles(const ops::Gemm& a, void* scratch);

// The right operand's panels.
int64_t packed_tiles_numel(int64_t k, int64_t n);
void pack_weight_tiles(const ops::Weight& weight);

}  // namespace weft::cpu
