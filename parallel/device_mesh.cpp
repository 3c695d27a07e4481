// parallel/device_mesh.cpp: decides how tensors on a device are communicated.
#include "parallel/device_mesh.h"

#include <cmath>

#include "parallel/staged_communicator.h"
#include "tensor/error.h"

namespace weft {

bool stages_through_host(const RankDevice& own, Communication wanted) {
  if (own.device != Device::cuda || wanted == Communication::nccl) return false;
  return wanted == Communication::mpi || own.num_sharing > 1 || !own.without_nccl.empty();
}

NcclLimits nccl_limits(const ParallelConfig& options) {
  return {.collective = std::chrono::milliseconds(std::llround(1000 * options.timeout))};
}

std::unique_ptr<Communicator> make_device_communicator(Context& ctx, Communicator& group, const RankDevice& own,
                                                       Communication wanted, NcclLimits limits) {
  if (stages_through_host(own, wanted) || group.size() == 1) return make_staged_communicator(group, ctx);
  if (own.num_sharing > 1) share_one_gpu();
  return make_nccl_communicator(ctx, group, limits);
}

void require_communication(Device device, Communication wanted) {
  require(device != Device::cpu || wanted != Communication::nccl, ErrorKind::usage,
          "parallel.communication = nccl needs GPUs, but this run is on CPUs: use auto");
}

DeviceMesh::DeviceMesh(const Mesh& mesh, Communication wanted, NcclLimits limits) : mesh_(mesh) {
  require_communication(mesh.device(), wanted);
  if (mesh.device() == Device::cpu) {
    ctx_ = std::make_unique<Context>(Device::cpu);
    return;
  }
  ctx_ = all_or_none(mesh.world(), [&] { return std::make_unique<Context>(mesh.device()); });
  dp_ = make_device_communicator(*ctx_, mesh.dp(), mesh.own(), wanted, limits);
  tp_ = make_device_communicator(*ctx_, mesh.tp(), mesh.own(), wanted, limits);
}

}  // namespace weft
