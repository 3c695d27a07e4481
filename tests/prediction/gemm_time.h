// tests/prediction/gemm_time.h: predicted time of a matrix product on a GPU.
#pragma once

#include <cstdint>

#include "tests/prediction/gpu_model.h"

namespace weft {

struct GemmShape {
  int64_t m = 0, n = 0, k = 0;
  double bytes = 0;     // of its operands, as in OpCost: c twice if it is added to
  int64_t c_bytes = 2;  // of an element of c
  bool adds_to_c = false;
};

// The best of ten tile sizes and of sums split into up to 16 parts. A tile's time is its part of the sum at the
// main loop's rate, and the start and end of a block; tiles are computed in waves of one a SM. A split sum needs
// one more kernel, which adds the parts.
double gemm_seconds(const GpuModel& gpu, const GemmShape& gemm, bool graph);

}  // namespace weft
