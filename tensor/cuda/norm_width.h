// tensor/cuda/norm_width.h: the widest rows that the norm kernels can hold.
#pragma once

#include <cstdint>

namespace weft::cuda {

inline constexpr int64_t kWidestNorm = 32768;  // columns
void require_norm_width(int64_t cols);         // throws above kWidestNorm

}  // namespace weft::cuda
