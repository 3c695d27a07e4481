// trainer/prediction/step_ops.h: the ops of a training step with their shapes, without computing or allocating any.
#pragma once

#include <vector>

#include "data/batch.h"
#include "tensor/op/op_trace.h"
#include "trainer/config/run_config.h"

namespace weft {

struct StepOps {
  std::vector<OpTrace::Op> block;       // a block's forward and backward pass, with the collectives of tp
  std::vector<OpTrace::Op> last_block;  // the same of a step's last block, with those of dp (parallel/planned_group.h)
  std::vector<OpTrace::Op> step;        // what a step adds: zero gradients, their norm, the update
  std::vector<OpTrace::Op> exchange;    // collectives of Muon's iterations
  int64_t parameters = 0;               // of this rank, padding included
};

// The ops that a GPU is given, a rank of the grid config.parallel.dp x tp (0: 1), by a dry run: rank 0, with the
// largest share of Muon's matrices that a rank has, whose iterations have the type that they have on `device`. A
// collective stands where it starts; gradients are f32, and the gather of a sharded optimizer's weights is left out.
// `config` is resolved, except for its data. Operands have null data, except for the sentences' ranges, which last as
// long as `block`.
StepOps step_ops(const RunConfig& config, Block& block, Device device);

}  // namespace weft
