// tensor/cuda/attention/attention.h: the head sizes that attention's kernels are compiled for.
#pragma once

#include <cstdint>

namespace weft::cuda::attention {

inline constexpr int kMaxHead = 128;   // columns
void require_head_size(int64_t size);  // throws above kMaxHead

}  // namespace weft::cuda::attention
