// trainer/step/step_limits.h: the roofline of a training step (Williams et al. 2009): the least time in which a
// processor can do its operations and move its bytes.
#pragma once

#include <vector>

#include "model/pass.h"
#include "parallel/mesh.h"
#include "tensor/op/op_trace.h"
#include "trainer/config/run_config.h"

namespace weft {

struct ProcessorRates {  // of a rank, a second; 0: not known
  double flops = 0;      // of matrix products in the run's precision
  double f32_flops = 0;  // of those of f32 operands; 0: as the others
  double bandwidth = 0;  // bytes of its memory
};

// The sum of max(operations / flops, bytes / bandwidth) over the ops. Collectives take no time.
double roofline_seconds(const std::vector<OpTrace::Op>& ops, const ProcessorRates& rates);

// Of a step of the rank with most blocks, whatever its sentences: all rows of a block count, and attention's bytes
// without its operations, which bind only in long sentences. 0 if a rate is not known. `config` is resolved.
double roofline_of_step(const RunConfig& config, Device device, const ProcessorRates& rates);

struct StepLimits {    // 0: not known
  double flops = 0;    // operations a second of all ranks' processors (step_flops.h)
  double seconds = 0;  // roofline_of_step
};

// Of train.peak_flops and train.memory_bandwidth, or where they are 0 of the ranks' processors: memory has the
// bandwidth of a GPU's data sheet, or on CPUs of copies in the pass's memory for activations, which all ranks make at
// once. The mean of the ranks counts. All ranks call it before the first step.
StepLimits limits_of_step(const RunConfig& config, const Pass& pass, const Mesh& mesh);

}  // namespace weft
