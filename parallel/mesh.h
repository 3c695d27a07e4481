// parallel/mesh.h: the dp x tp grid of ranks, tp innermost: world rank = dp_rank * tp + tp_rank.
//
// Ranks of one tp group are neighbours (the same node under mpirun's default mapping); they hold slices of one model.
// Ranks with equal tp_rank form a dp group; they hold the same slices and different blocks of data.
#pragma once

#include <cstdint>
#include <memory>

#include "parallel/communicator.h"

namespace weft {

struct ParallelConfig {
  int64_t dp = 0;  // 0: as many as the ranks allow, given tp
  int64_t tp = 1;

  template <typename V>
  void fields(V& v) {
    v("dp", dp, "data-parallel ranks; 0 = number of ranks / tp");
    v("tp", tp, "tensor-parallel ranks: attention heads, feed-forward and vocabulary are split over them");
  }
};

// The grid for `ranks` processes; an Error of kind usage names the numbers and options when it does not fit.
ParallelConfig resolve_grid(ParallelConfig wanted, int ranks);

class Mesh {
 public:
  Mesh(Communicator& world, const ParallelConfig& grid);  // grid resolved: dp * tp == world.size()

  Communicator& world() const { return world_; }
  Communicator& dp() const { return *dp_; }
  Communicator& tp() const { return *tp_; }

 private:
  Communicator& world_;
  std::unique_ptr<Communicator> dp_, tp_;
};

}  // namespace weft
