// tensor/cuda/norm_width.h: limits the width of rows, which norm kernels hold in registers.
#pragma once

#include <cstdint>

namespace weft::cuda {

inline constexpr int64_t kWidestNorm = 32768;  // columns
void require_norm_width(int64_t cols);         // throws above kWidestNorm

}  // namespace weft::cuda
