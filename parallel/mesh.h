// parallel/mesh.h: the dp x tp grid of ranks, tp innermost: world rank = dp_rank * tp + tp_rank; and what they compute
// on.
//
// Ranks of one tp group are neighbours (the same node under mpirun's default mapping); they hold slices of one model.
// Ranks with equal tp_rank form a dp group; they hold the same slices and different blocks of data.
// Values of the host travel over these groups; tensors of the model over those of device_mesh.h.
#pragma once

#include <cstdint>
#include <memory>

#include "parallel/communicator.h"
#include "parallel/rank_device.h"

namespace weft {

enum class Communication : uint8_t { automatic, nccl, mpi };  // of tensors in GPUs' memory
constexpr EnumNames<Communication, 3> enum_names(Communication) {
  return {{{"auto", Communication::automatic}, {"nccl", Communication::nccl}, {"mpi", Communication::mpi}}};
}

struct ParallelConfig {
  int64_t dp = 0;  // 0: as many as the ranks allow, given tp
  int64_t tp = 1;
  Communication communication = Communication::automatic;
  bool share_gpu = false;
  double timeout = 600;

  template <typename V>
  void fields(V& v) {
    v("dp", dp, "data-parallel ranks; 0 = number of ranks / tp");
    v("tp", tp, "tensor-parallel ranks: attention heads, feed-forward and vocabulary are split over them");
    v("communication", communication,
      "between GPUs: nccl, or mpi, which goes through the hosts' memory; auto = nccl where each rank has a GPU of its "
      "own");
    v("share_gpu", share_gpu, "several ranks may compute on one GPU, where a host has more ranks than GPUs");
    v("timeout", timeout,
      "seconds for ranks to connect over NCCL and for each sum between them; one that takes longer is named and all "
      "ranks end");
  }
};

// The grid for `ranks` processes; an Error of kind usage names the numbers and options when it does not fit, or
// another option is none that can be.
ParallelConfig resolve_grid(ParallelConfig wanted, int ranks);

class Mesh {
 public:
  // `grid` resolved: dp * tp == world.size(). `own`: what choose_device() found for this rank.
  Mesh(Communicator& world, const ParallelConfig& grid, RankDevice own = {});

  Device device() const { return own_.device; }
  const RankDevice& own() const { return own_; }
  Communicator& world() const { return world_; }
  Communicator& dp() const { return *dp_; }
  Communicator& tp() const { return *tp_; }

 private:
  Communicator& world_;
  RankDevice own_;
  std::unique_ptr<Communicator> dp_, tp_;
};

}  // namespace weft
