// trainer/step/dry_step.h: runs a training step on a replica without memory to find what it needs and does.
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
  std::vector<OpTrace::Op> step;        // additional ops per step: zero gradients, their norm, the update
  std::vector<OpTrace::Op> exchange;    // collectives of the update
  int64_t parameters = 0;               // on this rank, padding included
};

// Returns the ops that rank 0 of the grid config.parallel.dp x tp (0: 1) gives to its device, with the largest share of
// Muon's matrices. A collective is listed where it starts. Gradients are f32. The gather of a sharded optimizer's
// weights and the packing of weights on a CPU are left out. Operands have null data, except for the row ranges of
// sentences, which are valid as long as `block`. REQUIRES: `config` is resolved except for its data.
StepOps step_ops(const RunConfig& config, Block& block, Device device);

}  // namespace weft
