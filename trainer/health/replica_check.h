// trainer/health/replica_check.h: checks that replicas are still equal, bit by bit.
//
// Ranks of a dp group hold equal parameters and moments, and ranks of a tp group hold equal parameters where these are
// replicated. A bit that flips in memory, or a device that computes wrongly, makes them differ permanently, and nothing
// else would notice. A sharded optimizer has one copy of each moment and of each matrix in f32, so only the gathered
// weights, biases and norms can be compared.
#pragma once

#include <string>
#include <vector>

#include "model/parameters/param_store.h"
#include "parallel/mesh.h"

namespace weft {

struct ReplicatedState {
  std::string what;  // "", "the first moment of "
  ParamBuffer flat;  // on ctx's device
};

// Throws an Error of kind diverged that names the first tensor that differs, and the ranks. All ranks call it. It reads
// each state once and exchanges 8 bytes per tensor.
void require_equal_replicas(Context& ctx, const ParamStore& params, const std::vector<ReplicatedState>& states,
                            const Mesh& mesh);

}  // namespace weft
