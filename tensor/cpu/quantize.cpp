// tensor/cpu/quantize.cpp: rounds many rows on all threads.
#include "tensor/op/quantize.h"

#include <vector>

#include "tensor/cpu/runtime.h"

namespace weft {

void round_rows_to_int8(float* x, int64_t rows, int64_t cols) {
#pragma omp parallel if (rows * cols >= cpu::kWorthThreads)
  {
    std::vector<int8_t> q(static_cast<size_t>(cols));
#pragma omp for schedule(static)
    for (int64_t r = 0; r < rows; ++r) {
      float* row = x + r * cols;
      const float scale = quantize_row(row, cols, q.data());
      for (int64_t c = 0; c < cols; ++c) row[c] = scale * static_cast<float>(q[static_cast<size_t>(c)]);
    }
  }
}

}  // namespace weft
