// tensor/cpu/amx_gemm.h: products of bf16 matrices on AMX tiles; an element's sum runs over the depth in order, in f32,
// whatever the shape, the rows beside it and the number of threads.
#pragma once

#include <cstddef>

#include "tensor/ops.h"

namespace weft::cpu {

// Whether this program holds these kernels and the processor runs them.
bool has_amx_gemm();

// a, b bf16; c bf16 or f32; has_amx_gemm() holds. `scratch`: amx_gemm_scratch(a) bytes, aligned to 64.
size_t amx_gemm_scratch(const ops::Gemm& a);
void amx_gemm(const ops::Gemm& a, void* scratch);

// The right operand's panels.
int64_t amx_packed_numel(int64_t k, int64_t n);
void amx_pack_weight(const ops::PackWeight& a);

}  // namespace weft::cpu
