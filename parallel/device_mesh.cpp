// parallel/device_mesh.cpp: the one place that says how tensors on a device travel.
#include "parallel/device_mesh.h"

#include <cmath>

#include "parallel/staged_communicator.h"
#include "tensor/error.h"

namespace weft {

bool stages(const RankDevice& own, Communication wanted) {
  if (own.device != Device::cuda || wanted == Communication::nccl) return false;
  return wanted == Communication::mpi || own.num_sharing > 1 || !has_nccl();
}

NcclLimits nccl_limits(const ParallelConfig& options) {
  return {.collective = std::chrono::milliseconds(std::llround(1000 * options.timeout))};
}

std::unique_ptr<Communicator> make_device_communicator(Context& ctx, Communicator& group, const RankDevice& own,
                                                       Communication wanted, NcclLimits limits) {
  const bool some_stage = group.max(stages(own, wanted) ? 1 : 0) == 1;  // NCCL may be missing on one host
  if (some_stage || group.size() == 1) return make_staged_communicator(group, ctx);
  if (own.num_sharing > 1) share_one_gpu();
  return make_nccl_communicator(ctx, group, limits);
}

DeviceMesh::DeviceMesh(const Mesh& mesh, Communication wanted, NcclLimits limits) : mesh_(mesh) {
  if (mesh.device() == Device::cpu) {
    require(wanted != Communication::nccl, ErrorKind::usage,
            "parallel.communication = nccl is between GPUs, but this run computes on CPUs: leave it at auto");
    ctx_ = std::make_unique<Context>(Device::cpu);
    return;
  }
  ctx_ = all_or_none(mesh.world(), [&] { return std::make_unique<Context>(mesh.device()); });
  dp_ = make_device_communicator(*ctx_, mesh.dp(), mesh.own(), wanted, limits);
  tp_ = make_device_communicator(*ctx_, mesh.tp(), mesh.own(), wanted, limits);
}

}  // namespace weft
