// trainer/step/dry_step.h: dry-runs a training step to find the memory that it needs and the ops that it runs.
#pragma once

#include <cstddef>
#include <vector>

#include "data/batch.h"
#include "parallel/tensor_parallel.h"
#include "tensor/op/op_trace.h"
#include "trainer/config/run_config.h"

namespace weft {

// Returns the bytes that the forward and backward pass of one block need on this rank. `dry`, a context for dry runs,
// records the scratch memory of a step's ops.
size_t arena_bytes(const RunConfig& config, const TensorParallel& tp, Context& dry);

struct StepOps {
  std::vector<OpTrace::Op> block;       // a block's forward and backward pass, with the collectives of tp
  std::vector<OpTrace::Op> last_block;  // the same for the last block, also with collectives of dp (planned_group.h)
  std::vector<OpTrace::Op> step;        // other ops of a step: zeroing of gradients, gradient norm, update
  std::vector<OpTrace::Op> exchange;    // collectives of the update
  int64_t parameters = 0;               // on this rank, including padding
};

// Returns the ops of rank 0 in a grid of config.parallel.dp x tp ranks (0 counts as 1). This rank has the largest share
// of Muon's matrices. A collective is listed where it starts. Gradients are f32. The gather of a sharded optimizer's
// weights and the packing of weights on a CPU are left out. Operands have null data, except for the row ranges of
// sentences, which are valid as long as `block` exists. REQUIRES: `config` is resolved except for its data.
StepOps step_ops(const RunConfig& config, Block& block, Device device);

}  // namespace weft
