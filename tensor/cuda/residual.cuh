// tensor/cuda/residual.cuh: computes residual + dropout(x + bias) of a group of columns, for pointwise.cu and, before a
// norm, for normalization.cu.
#pragma once

#include "tensor/cuda/dropout.cuh"

namespace weft::cuda {

template <typename T>
struct ResidualSum {
  Rows<T> residual;  // may be absent
  Rows<T> x;
  const float* bias = nullptr;  // may be null

  __device__ void load_sum(const DropoutMask& dropout, int64_t row, int64_t col, int64_t count,
                           float (&sum)[kGroup]) const {
    load(x[row] + col, count, sum);
    if (bias != nullptr) add_group(bias + col, count, sum);
    drop(dropout, row, col, sum);
    if (residual.data != nullptr) add_group(residual[row] + col, count, sum);
  }
};

}  // namespace weft::cuda
