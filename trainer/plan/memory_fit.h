// trainer/plan/memory_fit.h: checks before any allocation whether a run fits into GPU and host memory.
#pragma once

#include <cstddef>
#include <string>

#include "parallel/tensor_parallel.h"
#include "trainer/config/run_config.h"
#include "trainer/plan/memory_plan.h"

namespace weft {

// Throws an Error of kind usage if this rank's planned tensors do not fit into `available` bytes. The Error shows the
// missing bytes and the options that help. Returns a remark if the tensors leave less than kRoomForLibraries, otherwise
// "". REQUIRES: `config` is resolved, including its precision.
std::string require_fit(const RunConfig& config, const TensorParallel& tp, Device device, size_t available,
                        const std::string& gpu = "the GPU");

// Does the same for the free memory of this rank's GPU. Ranks that share a GPU divide the memory equally.
std::string require_fit_on_gpu(const RunConfig& config, const TensorParallel& tp, const RankDevice& own);

// Throws an Error of kind usage if `plan` exceeds the memory that this machine or its control group allows.
void require_fit_on_host(const RunConfig& config, const TensorParallel& tp, const MemoryPlan& plan, size_t allowed);

// Reserve for CUDA's libraries, kernels and graphs and for NCCL, which usually allocate hundreds of MiB on first use.
inline constexpr size_t kRoomForLibraries = size_t{1} << 30;

}  // namespace weft
