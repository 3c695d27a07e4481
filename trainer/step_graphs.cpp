// trainer/step_graphs.cpp: where graphs can be, and the values that they read.
#include "trainer/step_graphs.h"

#include "parallel/device_mesh.h"
#include "tensor/error.h"
#include "tensor/transfer.h"

namespace weft {
namespace {

void require_graphs(const RunConfig& config, const Mesh& mesh) {
  require(mesh.device() == Device::cuda, ErrorKind::usage,
          "train.cuda_graph records the work of GPUs, but this run computes on CPUs: leave it out");
  require(mesh.world().size() == 1 || !stages(mesh.own(), config.parallel.communication), ErrorKind::usage,
          "train.cuda_graph needs NCCL between the ranks, a GPU each; here their sums pass through the hosts' memory, "
          "which "
          "no graph can hold: leave it out");
}

}  // namespace

StepGraphs::StepGraphs(const RunConfig& config, const Mesh& mesh) {
  if (!config.train.cuda_graph) return;
  all_or_none(mesh.world(), [&] { require_graphs(config, mesh); });
  state_ = Buffer(sizeof(StepState), mesh.device());
}

void StepGraphs::set(Context& ctx, StepState values) {
  if (state() != nullptr) upload(ctx, &values, state_.tensor({sizeof(StepState) / sizeof(int32_t)}, DType::i32));
}

}  // namespace weft
