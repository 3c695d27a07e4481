// trainer/step/step_limits.h: computes the roofline of a training step (Williams et al. 2009): the minimum time in
// which a processor can do its operations and move its bytes.
#pragma once

#include <vector>

#include "model/pass.h"
#include "parallel/mesh.h"
#include "tensor/op/op_trace.h"
#include "trainer/config/run_config.h"

namespace weft {

struct ProcessorRates {  // per second, of one rank; 0: unknown
  double flops = 0;      // matrix products in the run's precision
  double f32_flops = 0;  // matrix products of f32 operands; 0: same as `flops`
  double bandwidth = 0;  // bytes of its memory
};

// Returns the sum of max(operations / flops, bytes / bandwidth) over the ops. Collectives take no time.
double roofline_seconds(const std::vector<OpTrace::Op>& ops, const ProcessorRates& rates);

// Returns the roofline of a step of the busiest rank, which does not depend on the sentences: it counts all rows of a
// block, and the bytes of attention but not its FLOPs, which matter only in long sentences. Returns 0 if a rate is
// unknown. REQUIRES: `config` is resolved.
double roofline_of_step(const RunConfig& config, Device device, const ProcessorRates& rates);

struct StepLimits {    // 0: unknown
  double flops = 0;    // FLOP/s of all ranks' processors (step_flops.h)
  double seconds = 0;  // roofline_of_step
};

// Uses train.peak_flops and train.memory_bandwidth or, if an option is 0, the rates of the ranks' processors. Memory
// bandwidth is then a mean over the ranks. It comes from a GPU's data sheet or, on CPUs, from copies in the activation
// memory of `pass`, which all ranks time together. All ranks call it before the first step.
StepLimits limits_of_step(const RunConfig& config, const Pass& pass, const Mesh& mesh);

}  // namespace weft
