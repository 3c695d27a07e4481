// trainer/step/planned_replica.h: describes a rank's model and optimizer for memory plans and dry runs, without memory.
#pragma once

#include <memory>

#include "model/transformer.h"
#include "parallel/planned_group.h"
#include "parallel/tensor_parallel.h"
#include "trainer/config/run_config.h"
#include "trainer/optimizer/optimizer.h"

namespace weft {

struct PlannedReplica {
  // Plans a rank in a grid of config.parallel.dp x tp ranks. `trace` records what the rank's groups would communicate.
  PlannedReplica(const RunConfig& config, const TensorParallel& tp, Device device, OpTrace* trace = nullptr);

  std::unique_ptr<Communicator> dp, tp_group;
  ParamStore params;
  Transformer model;
  Optimizer optimizer;
};

}  // namespace weft
