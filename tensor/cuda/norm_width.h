// tensor/cuda/norm_width.h: the rows that the kernels of norms hold whole.
#pragma once

#include <cstdint>

namespace weft::cuda {

inline constexpr int64_t kWidestNorm = 32768;  // columns
void require_norm_width(int64_t cols);         // an Error above kWidestNorm

}  // namespace weft::cuda
