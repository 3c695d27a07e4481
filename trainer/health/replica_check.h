// trainer/health/replica_check.h: checks that replicas are bitwise equal.
//
// Ranks of a dp group hold equal parameters and moments, and ranks of a tp group hold equal copies of the replicated
// parameters. If a bit flips in memory or a device computes wrongly, the copies differ permanently, which no other
// check would detect. With a sharded optimizer, each moment and each f32 matrix exists only once, so this check
// can compare only the gathered weights, the biases and the norms.
#pragma once

#include <string>
#include <vector>

#include "model/parameters/param_store.h"
#include "parallel/mesh.h"

namespace weft {

struct ReplicatedState {
  std::string what;  // begins the error message: "", "the first moment of "
  ParamBuffer flat;  // on ctx's device
};

// Throws an Error of kind diverged that names the ranks and the first tensor that differs. Reads each state once and
// exchanges 8 bytes per tensor. All ranks must call this.
void require_equal_replicas(Context& ctx, const ParamStore& params, const std::vector<ReplicatedState>& states,
                            const Mesh& mesh);

}  // namespace weft
