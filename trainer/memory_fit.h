// trainer/memory_fit.h: whether a run's tensors fit into its GPU's memory, found before anything is allocated.
#pragma once

#include <cstddef>
#include <string>

#include "parallel/tensor_parallel.h"
#include "trainer/run_config.h"

namespace weft {

// Nothing if this rank's tensors, as planned, fit into `available` bytes; otherwise an Error of kind usage that says by
// how much they do not, and which options would make them fit. `config` is resolved, its precision decided.
void require_fit(const RunConfig& config, const TensorParallel& tp, Device device, size_t available,
                 const std::string& gpu = "the GPU");

// The same for this rank's GPU, whose free memory the ranks that share it divide.
void require_fit_on_gpu(const RunConfig& config, const TensorParallel& tp, const RankDevice& own);

}  // namespace weft
