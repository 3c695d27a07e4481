// tensor/cpu/gemm/gemm_weights.h: y = x W^T with a weight packed once for many GEMMs of few rows, as in decoding.
//
// The packed weight consists of panels of three vectors of y's columns over the whole depth, so that it is read in
// order. An element is summed over the depth in order, in f32, so its bits depend neither on other rows nor on the
// number of threads. f32 needs AVX2 or AVX-512; bf16 needs AVX512_BF16, which multiplies pairs of depths, and a
// processor without AMX.
#pragma once

#include "tensor/ops.h"

namespace weft::cpu {

// Returns the elements of the packed weight, or 0 if such GEMMs are not faster here.
int64_t inference_numel(DType storage, int64_t k, int64_t n);
void pack_for_inference(const ops::Weight& weight);

bool uses_packed_weight(const ops::Gemm& a);  // true if a.b.inference is there, and `a` only overwrites c
void multiply_by_weight(const ops::Gemm& a);  // without the epilogue

}  // namespace weft::cpu
