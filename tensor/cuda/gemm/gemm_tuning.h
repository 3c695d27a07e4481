// tensor/cuda/gemm/gemm_tuning.h: measures the time that a GPU needs for a GEMM.
#pragma once

#include <functional>

#include "tensor/cuda/runtime/runtime.h"

namespace weft::cuda {

// Returns the milliseconds that the GPU needs for `work`, excluding the host's launches, or infinity if work() returns
// false. `work` runs many times on the same operands.
float time_on_gpu(Runtime& run, const std::function<bool()>& work);

}  // namespace weft::cuda
