// trainer/step/planned_replica.h: one rank's model and optimizer without memory, for memory plans and dry runs.
#pragma once

#include <memory>

#include "model/transformer.h"
#include "parallel/planned_group.h"
#include "parallel/tensor_parallel.h"
#include "trainer/config/run_config.h"
#include "trainer/optimizer/optimizer.h"

namespace weft {

struct PlannedReplica {
  // Plans the rank of `tp` in a grid of config.parallel.dp. Its groups record in `trace` what they would communicate.
  PlannedReplica(const RunConfig& config, const TensorParallel& tp, Device device, OpTrace* trace = nullptr);

  std::unique_ptr<Communicator> dp, tp_group;
  ParamStore params;
  Transformer model;
  Optimizer optimizer;
};

}  // namespace weft
