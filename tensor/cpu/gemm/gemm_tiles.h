// tensor/cpu/gemm/gemm_tiles.h: computes GEMMs of bf16 matrices on AMX tiles. Elements of c are summed in f32, in the
// order of the inner dimension, for every shape and number of threads.
#pragma once

#include <cstddef>

#include "tensor/ops.h"

namespace weft::cpu {

// Returns true if this program contains these kernels and the processor can run them.
bool has_gemm_tiles();

// REQUIRES: has_gemm_tiles(), bf16 a and b, bf16 or f32 c, and gemm_tiles_scratch(a) bytes at `scratch`, aligned to 64.
size_t gemm_tiles_scratch(const ops::Gemm& a);
void gemm_tiles(const ops::Gemm& a, void* scratch);

// Returns the number of elements in the right operand's panels.
int64_t packed_tiles_numel(int64_t k, int64_t n);
void pack_weight_tiles(const ops::Weight& weight);

}  // namespace weft::cpu
