// tensor/cuda/attention/attention.h: limits the size of attention heads, because kernels are compiled for each size.
#pragma once

#include <cstdint>

namespace weft::cuda::attention {

inline constexpr int kMaxHead = 128;   // columns
void require_head_size(int64_t size);  // throws above kMaxHead

}  // namespace weft::cuda::attention
