// parallel/device_mesh.h: the mesh for tensors of the model: this rank's Context, and the groups that
// communicate tensors on its device.
//
// On the CPU these groups are the mesh's own. Tensors of GPUs use NCCL, or go through host memory
// (staged_communicator.h).
#pragma once

#include <memory>

#include "parallel/mesh.h"
#include "parallel/nccl.h"
#include "tensor/context.h"

namespace weft {

class DeviceMesh {
 public:
  // All ranks of the mesh's world construct it together; if one fails, all fail. The mesh outlives it.
  DeviceMesh(const Mesh& mesh, Communication wanted, NcclLimits limits = {});

  Context& context() const { return *ctx_; }
  Communicator& dp() const { return dp_ ? *dp_ : mesh_.dp(); }
  Communicator& tp() const { return tp_ ? *tp_ : mesh_.tp(); }
  void set_step(int64_t step) const {  // of the next collectives, for the message if one hangs
    dp().set_step(step);
    tp().set_step(step);
  }

 private:
  const Mesh& mesh_;
  std::unique_ptr<Context> ctx_;
  std::unique_ptr<Communicator> dp_, tp_;  // none on the CPU
};

// A communicator of `group`'s ranks for tensors on ctx's device, a GPU; `group` carries host values. All
// ranks call it, with the same `wanted` and, except for its index, the same `own`.
std::unique_ptr<Communicator> make_device_communicator(Context& ctx, Communicator& group, const RankDevice& own,
                                                       Communication wanted, NcclLimits limits = {});

NcclLimits nccl_limits(const ParallelConfig& options);  // parallel.timeout

void require_communication(Device device, Communication wanted);  // a usage Error if these do not go together

// Whether such tensors go through host memory.
bool stages_through_host(const RankDevice& own, Communication wanted);

}  // namespace weft
