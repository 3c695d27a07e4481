// trainer/replica.cpp: declares and allocates a model on a rank's device.
#include "trainer/replica.h"

namespace weft {

Replica::Replica(const RunConfig& config, const Mesh& mesh, DType compute, int64_t num_positions, ParamUse use)
    : mesh_(mesh),
      device_mesh_(mesh, config.parallel.communication, nccl_limits(config.parallel)),
      tp_(device_mesh_.tp()),
      params_(tp_.rank(), tp_.size(), compute, mesh.device(), use, frozen_names(config)),
      model_(config.model, params_, num_positions) {
  params_.allocate(config.parallel.zero > 0 ? mesh.dp().size() : 1);
}

}  // namespace weft
