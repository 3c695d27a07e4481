// trainer/step/step_limits.h: computes the roofline of a training step (Williams et al. 2009): the minimum time in
// which a processor can do its operations and move its bytes.
#pragma once

#include <vector>

#include "model/pass.h"
#include "parallel/mesh.h"
#include "tensor/op/op_trace.h"
#include "trainer/config/run_config.h"

namespace weft {

struct ProcessorRates {  // per second of one rank; 0 = unknown
  double flops = 0;      // matrix products in the run's precision
  double f32_flops = 0;  // matrix products of f32 operands; 0 = same as `flops`
  double bandwidth = 0;  // bytes read from and written to memory
};

// Returns the sum of max(operations / flops, bytes / bandwidth) over the ops. Collectives count as 0.
double roofline_seconds(const std::vector<OpTrace::Op>& ops, const ProcessorRates& rates);

// Returns the roofline of a step, in seconds, on the rank with the most blocks; 0 if a rate is unknown. All rows of a
// block count, so the result does not depend on the sentences. Attention counts only by its bytes, because its FLOPs
// matter only in long sentences. REQUIRES: `config` is resolved.
double roofline_of_step(const RunConfig& config, Device device, const ProcessorRates& rates);

struct StepLimits {    // 0 = unknown
  double flops = 0;    // FLOP/s of all ranks' processors (step_flops.h)
  double seconds = 0;  // roofline_of_step
};

// Uses train.peak_flops and train.memory_bandwidth or, if an option is 0, the rates of the ranks' processors. Then the
// memory bandwidth is a mean over the ranks. For GPUs it comes from the data sheet. For CPUs it comes from copies in
// the activation memory of `pass`, which all ranks time together. All ranks call it before the first step.
StepLimits limits_of_step(const RunConfig& config, const Pass& pass, const Mesh& mesh);

}  // namespace weft
