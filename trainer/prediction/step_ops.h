// trainer/prediction/step_ops.h: the ops of a training step with their shapes, without computing or allocating any.
#pragma once

#include <vector>

#include "data/batch.h"
#include "tensor/op/op_trace.h"
#include "trainer/run_config.h"

namespace weft {

struct StepOps {
  std::vector<OpTrace::Op> block;  // a block's forward and backward pass
  std::vector<OpTrace::Op> step;   // what a step adds: zero gradients, their norm, Adam
  int64_t parameters = 0;
};

// The ops that a GPU without other ranks is given, by a dry run. `config` is resolved, except for its data. Their
// operands have null data, except for the sentences' ranges, which last as long as `block`.
StepOps step_ops(const RunConfig& config, Block& block);

}  // namespace weft
