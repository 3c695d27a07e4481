// parallel/device_mesh.h: provides this rank's Context, and the groups of the mesh for tensors on its device.
//
// On the CPU, these are the groups of the Mesh. Collectives on GPU tensors use NCCL or go through host memory
// (staged_communicator.h).
#pragma once

#include <memory>

#include "parallel/mesh.h"
#include "parallel/nccl.h"
#include "tensor/context.h"

namespace weft {

class DeviceMesh {
 public:
  // REQUIRES: all ranks of the mesh's world construct it together; the mesh outlives it. If a rank fails, all fail.
  DeviceMesh(const Mesh& mesh, Communication wanted, NcclLimits limits = {});

  Context& context() const { return *ctx_; }
  Communicator& dp() const { return dp_ ? *dp_ : mesh_.dp(); }
  Communicator& tp() const { return tp_ ? *tp_ : mesh_.tp(); }
  void set_step(int64_t step) const {  // sets the step that a message names if a collective hangs
    dp().set_step(step);
    tp().set_step(step);
  }

 private:
  const Mesh& mesh_;
  std::unique_ptr<Context> ctx_;
  std::unique_ptr<Communicator> dp_, tp_;  // null on the CPU
};

// Returns a communicator of `group`'s ranks for tensors on ctx's GPU. Host values still use `group`. REQUIRES: all
// ranks call this function with the same `wanted` and, except for its index, the same `own`.
std::unique_ptr<Communicator> make_device_communicator(Context& ctx, Communicator& group, const RankDevice& own,
                                                       Communication wanted, NcclLimits limits = {});

NcclLimits nccl_limits(const ParallelConfig& options);  // the limits set by parallel.timeout

void require_communication(Device device, Communication wanted);  // throws a usage Error if `device` cannot use it

// Returns true if collectives on device tensors go through host memory.
bool stages_through_host(const RankDevice& own, Communication wanted);

}  // namespace weft
