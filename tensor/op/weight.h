// tensor/op/weight.h: defines the second operand of a GEMM, with copies in layouts that a device reads faster.
#pragma once

#include <cstdint>

#include "tensor/tensor.h"

namespace weft::ops {

// Holds a matrix, or a weight with packed copies. pack_weight makes the copies once for many GEMMs. A device without
// packed layouts reads the matrix.
struct Weight {
  Weight() = default;
  Weight(const Tensor& matrix) : matrix(matrix) {}
  const Tensor& packed(bool trans_b) const { return trans_b ? packed_forward : packed_backward; }

  Tensor matrix;                           // W [out, in] of a linear layer
  Tensor packed_forward, packed_backward;  // [packed_numel]? for x W^T (trans_b) and for d_y W
  Tensor inference;  // [inference_numel]? for x W^T with few rows, without gradients. If it is i8,
                     //   the GEMM rounds x to int8 by row, and c is f32
};

// These return the number of elements in a copy of op(b) [K, N], or 0 if the device uses no such copy. The storage of a
// copy for inference is that of the matrix, or i8.
int64_t packed_numel(Device device, DType storage, int64_t k, int64_t n);
int64_t inference_numel(Device device, DType storage, int64_t k, int64_t n);

}  // namespace weft::ops
