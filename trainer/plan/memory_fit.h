// trainer/plan/memory_fit.h: whether a run's tensors fit into its GPU's memory, found before anything is allocated.
#pragma once

#include <cstddef>
#include <string>

#include "parallel/tensor_parallel.h"
#include "trainer/run_config.h"

namespace weft {

// An Error of kind usage if this rank's tensors, as planned, do not fit into `available` bytes: by how much, and which
// options would make them fit. A remark if they leave less than kRoomForLibraries, else nothing. `config` is resolved,
// its precision decided.
std::string require_fit(const RunConfig& config, const TensorParallel& tp, Device device, size_t available,
                        const std::string& gpu = "the GPU");

// The same for this rank's GPU, whose free memory the ranks that share it divide.
std::string require_fit_on_gpu(const RunConfig& config, const TensorParallel& tp, const RankDevice& own);

// What CUDA's libraries, their kernels and graphs and NCCL's buffers take when they are first used is theirs to decide:
// hundreds of MiB are usual.
inline constexpr size_t kRoomForLibraries = size_t{1} << 30;

}  // namespace weft
