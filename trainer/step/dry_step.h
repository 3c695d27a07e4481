// trainer/step/dry_step.h: a training step on a replica without memory: what it needs, and what it does.
#pragma once

#include <cstddef>
#include <vector>

#include "data/batch.h"
#include "parallel/tensor_parallel.h"
#include "tensor/op/op_trace.h"
#include "trainer/config/run_config.h"

namespace weft {

// Bytes that the forward and backward pass of one block need on this rank. `dry`, a context for dry runs, records the
// scratch memory of a step's ops.
size_t arena_bytes(const RunConfig& config, const TensorParallel& tp, Context& dry);

struct StepOps {
  std::vector<OpTrace::Op> block;       // a block's forward and backward pass, with the collectives of tp
  std::vector<OpTrace::Op> last_block;  // the same of a step's last block, with those of dp (parallel/planned_group.h)
  std::vector<OpTrace::Op> step;        // what a step adds: zero gradients, their norm, the update
  std::vector<OpTrace::Op> exchange;    // collectives of the update
  int64_t parameters = 0;               // of this rank, padding included
};

// The ops that a device is given, a rank of the grid config.parallel.dp x tp (0: 1): rank 0, with the largest share of
// Muon's matrices that a rank has. A collective stands where it starts; gradients are f32, and neither the gather of a
// sharded optimizer's weights nor the packing of a CPU's is there. `config` is resolved, except for its data. Operands
// have null data, except for the sentences' ranges, which last as long as `block`.
StepOps step_ops(const RunConfig& config, Block& block, Device device);

}  // namespace weft
