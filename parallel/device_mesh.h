// parallel/device_mesh.h: the mesh for tensors of the model: this rank's Context, and the groups over which tensors on
// its device travel.
//
// On the CPU these groups are the mesh's own. GPUs' tensors go over NCCL, or through the hosts' memory
// (staged_communicator.h).
#pragma once

#include <memory>

#include "parallel/mesh.h"
#include "parallel/nccl.h"
#include "tensor/context.h"

namespace weft {

class DeviceMesh {
 public:
  // All ranks of the mesh's world make it together; where one cannot, none can. The mesh outlives it.
  DeviceMesh(const Mesh& mesh, Communication wanted, NcclLimits limits = {});

  Context& context() const { return *ctx_; }
  Communicator& dp() const { return dp_ ? *dp_ : mesh_.dp(); }
  Communicator& tp() const { return tp_ ? *tp_ : mesh_.tp(); }
  void set_step(int64_t step) const {  // that the next collectives belong to: for the message if one does not end
    dp().set_step(step);
    tp().set_step(step);
  }

 private:
  const Mesh& mesh_;
  std::unique_ptr<Context> ctx_;
  std::unique_ptr<Communicator> dp_, tp_;  // none on the CPU
};

// The ranks of `group`, which carries the host's values, for tensors on ctx's device, which is a GPU. All of them call
// it. `wanted` and `own`, but for its index, are the same on all of them.
std::unique_ptr<Communicator> make_device_communicator(Context& ctx, Communicator& group, const RankDevice& own,
                                                       Communication wanted, NcclLimits limits = {});

NcclLimits nccl_limits(const ParallelConfig& options);  // parallel.timeout

void require_communication(Device device, Communication wanted);  // an Error of kind usage if these do not go together

// Whether such tensors go through the hosts' memory.
bool stages(const RankDevice& own, Communication wanted);

}  // namespace weft
