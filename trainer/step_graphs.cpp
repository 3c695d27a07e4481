// trainer/step_graphs.cpp: checks whether a run can use CUDA graphs.
#include "trainer/step_graphs.h"

#include "parallel/device_mesh.h"
#include "tensor/error.h"

namespace weft {

void require_graphs(const RunConfig& config, const RankDevice& own) {
  if (!config.train.cuda_graph) return;
  require(own.device == Device::cuda, ErrorKind::usage,
          "train.cuda_graph records the work of GPUs, but this run computes on CPUs: leave it out");
  const bool alone = config.parallel.dp * config.parallel.tp == 1;
  require(alone || !stages(own, config.parallel.communication), ErrorKind::usage,
          "train.cuda_graph needs NCCL and a GPU for each rank; this run's all-reduces go through the hosts' memory, "
          "which a graph cannot record: leave it out");
}

StepGraphs::StepGraphs(const RunConfig& config, const Mesh& mesh) : enabled_(config.train.cuda_graph) {
  require_graphs(config, mesh.own());
}

}  // namespace weft
