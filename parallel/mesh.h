// parallel/mesh.h: arranges ranks and their devices in a dp x tp grid, with world rank = dp_rank * tp + tp_rank.
//
// Ranks of one tp group are neighbors (on the same node with mpirun's default mapping) and hold slices of one model.
// Ranks with equal tp_rank form a dp group; they hold the same slices but process different blocks of data. Host values
// are communicated over these groups, and the model's tensors over the groups in device_mesh.h.
#pragma once

#include <cstdint>
#include <memory>

#include "parallel/communicator.h"
#include "parallel/placement/rank_device.h"
#include "tensor/on_resume.h"

namespace weft {

enum class Communication : uint8_t { automatic, nccl, mpi };  // how tensors in GPU memory are communicated
constexpr EnumNames<Communication, 3> enum_names(Communication) {
  return {{{"auto", Communication::automatic}, {"nccl", Communication::nccl}, {"mpi", Communication::mpi}}};
}

enum class GradientType : uint8_t { f32, bf16 };
constexpr EnumNames<GradientType, 2> enum_names(GradientType) {
  return {{{"f32", GradientType::f32}, {"bf16", GradientType::bf16}}};
}

struct ParallelConfig {
  int64_t dp = 0;  // 0: number of ranks / tp
  int64_t tp = 1;
  Communication communication = Communication::automatic;
  int64_t zero = 0;
  GradientType gradient_type = GradientType::f32;
  bool share_gpu = false;
  bool bind = true;
  double timeout = 600;
  bool sequence = false;

  template <typename V>
  void fields(V& v) {
    v("dp", dp, "data-parallel ranks; 0 = number of ranks / tp");
    v("tp", tp, "tensor-parallel ranks, which split attention heads, feed-forward layers and the vocabulary");
    v("communication", communication,
      "how GPUs communicate: nccl, mpi (through host memory), or auto (nccl if every rank has its own GPU and NCCL)",
      OnResume::this_start);
    v("zero", zero,
      "ZeRO stage: 0 = each rank keeps everything; 1 = each data-parallel rank keeps and updates only its share of the "
      "moments and f32 weights, and gathers the other weights during the next forward pass");
    v("gradient_type", gradient_type,
      "how data-parallel ranks send gradients: f32, or bf16 (half the bytes between hosts, but added in f32; needs "
      "zero "
      "= 1)");
    v("share_gpu", share_gpu, "allow several ranks on one GPU, for hosts with more ranks than GPUs",
      OnResume::this_start);
    v("bind", bind,
      "bind each rank to the cores of a NUMA node (the node of its GPU, if any), unless the launcher has bound it",
      OnResume::this_start);
    v("timeout", timeout,
      "max seconds to connect over NCCL and to finish a collective (with MPI, only in training); if a collective takes "
      "longer, all ranks exit with a message that names it");
    v("sequence", sequence,
      "sequence parallelism: tensor-parallel ranks also divide the rows of norms, residual sums and dropout among "
      "themselves, which saves work and memory; parallel.tp must divide batch.rows and batch.source_rows");
  }
};

// Resolves the grid for `ranks` processes. Throws a usage Error if this is impossible or an option is out of range.
ParallelConfig resolve_grid(ParallelConfig wanted, int ranks);

class Mesh {
 public:
  // REQUIRES: `grid` is resolved (dp * tp == world.size()), and `own` comes from this rank's choose_device().
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
