// trainer/step_graphs.cpp: where graphs can be, and the values that they read.
#include "trainer/step_graphs.h"

#include "parallel/device_mesh.h"
#include "tensor/error.h"
#include "tensor/transfer.h"

namespace weft {

void require_graphs(const RunConfig& config, const RankDevice& own) {
  if (!config.train.cuda_graph) return;
  require(own.device == Device::cuda, ErrorKind::usage,
          "train.cuda_graph records the work of GPUs, but this run computes on CPUs: leave it out");
  const bool alone = config.parallel.dp * config.parallel.tp == 1;
  require(alone || !stages(own, config.parallel.communication), ErrorKind::usage,
          "train.cuda_graph needs NCCL between the ranks, a GPU each; here their sums pass through the hosts' memory, "
          "which no graph can hold: leave it out");
}

StepGraphs::StepGraphs(const RunConfig& config, const Mesh& mesh) {
  if (!config.train.cuda_graph) return;
  require_graphs(config, mesh.own());
  state_ = Buffer(sizeof(StepState), mesh.device());
}

void StepGraphs::set(Context& ctx, StepState values) {
  if (state() != nullptr) upload(ctx, &values, state_.tensor({sizeof(StepState) / sizeof(int32_t)}, DType::i32));
}

}  // namespace weft
