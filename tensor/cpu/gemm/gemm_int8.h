// tensor/cpu/gemm/gemm_int8.h: computes y = x W^T with an int8 copy of W, and activations rounded to int8 by row.
//
// Weights are rounded by output row (tensor/op/quantize.h). A row of x with values in [low, high], which contains 0, is
// rounded to q = round(x / s) + z with s = (high - low) / 126 and z = round(-low / s), so that 0 <= q <= 127 (Jacob et
// al. 2018, section 2.1, with seven bits). Then y = (s scale) sum + bias with sum = sum of (q - z) w, an exact 32-bit
// integer. The other operations are rounded to f32 one after the other. So an element's bits depend neither on the
// processor nor on threads and other rows.
//
// Eight bits would need more instructions on processors without VNNI, where sums of pairs would not fit into 16 bits.
#pragma once

#include <cstddef>
#include <span>

#include "tensor/cpu/gemm/int8_panels.h"
#include "tensor/ops.h"

namespace weft::cpu {

// The kernels that this processor can run, the fastest first. The first one defines the layout of copies for inference.
std::span<const Int8Kernel> int8_kernels();

// Bytes of the copy of W [n, k]. REQUIRES: k <= kLongestInt8Sum, so that sums fit into 32 bits.
int64_t int8_copy_bytes(const Int8Kernel& kernel, int64_t k, int64_t n);
inline constexpr int64_t kLongestInt8Sum = 65536;
void pack_int8(const Int8Kernel& kernel, const Tensor& w, void* copy);

// REQUIRES: f32 a and c, and int8_scratch_bytes() at `scratch`. Ignores the epilogue.
size_t int8_scratch_bytes(const Int8Kernel& kernel, const ops::Gemm& a);
void gemm_int8(const Int8Kernel& kernel, const ops::Gemm& a, void* scratch);

}  // namespace weft::cpu
