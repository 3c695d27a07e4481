// trainer/health/replica_check.h: checks that replicas are bitwise equal.
//
// Ranks of a dp group hold equal parameters and moments, and ranks of a tp group hold equal copies of the replicated
// parameters. If a bit flips in memory or a device computes wrongly, the copies differ permanently, which no other
// check would detect. A sharded optimizer has only one copy of each moment and of each matrix in f32, so only the
// gathered weights, biases and norms can be compared.
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

// Throws an Error of kind diverged that names the ranks and the first tensor that differs. Reads each state once and
// exchanges 8 bytes per tensor. All ranks call it.
void require_equal_replicas(Context& ctx, const ParamStore& params, const std::vector<ReplicatedState>& states,
                            const Mesh& mesh);

}  // namespace weft
