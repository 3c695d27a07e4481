// tensor/cpu/gemm/gemm_tiles.h: GEMMs of bf16 matrices on AMX tiles. An element is summed over the depth in order, in
// f32, whatever the shape, the other rows and the number of threads.
#pragma once

#include <cstddef>

#include "tensor/ops.h"

namespace weft::cpu {

// True if this program contains these kernels and the processor can run them.
bool has_gemm_tiles();

// REQUIRES: has_gemm_tiles(); a and b are bf16, c is bf16 or f32; `scratch` has gemm_tiles_scratch(a) bytes, aligned to
// 64.
size_t gemm_tiles_scratch(const ops::Gemm& a);
void gemm_tiles(const ops::Gemm& a, void* scratch);

// Returns the size of the right operand's panels.
int64_t packed_tiles_numel(int64_t k, int64_t n);
void pack_weight_tiles(const ops::Weight& weight);

}  // namespace weft::cpu
