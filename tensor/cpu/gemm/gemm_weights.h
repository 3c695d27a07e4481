// tensor/cpu/gemm/gemm_weights.h: computes y = x W^T with a weight packed once for many GEMMs of few rows (decoding).
//
// A panel of the packed weight contains, for each depth of the inner dimension, three vectors of y's columns, so memory
// is read in order. Elements of y are summed over the depths in order, in f32, so their bits depend neither on other
// rows nor on the number of threads. f32 needs AVX2 or AVX-512. bf16 needs AVX512_BF16, which multiplies pairs of
// depths, on a processor without AMX.
#pragma once

#include "tensor/ops.h"

namespace weft::cpu {

// Returns the number of elements of the packed weight, or 0 if it would not make GEMMs faster on this processor.
int64_t weight_copy_numel(DType storage, int64_t k, int64_t n);
void pack_for_inference(const ops::Weight& weight);

void multiply_by_weight(const ops::Gemm& a);  // c = x W^T with a.b.inference, without the epilogue

}  // namespace weft::cpu
