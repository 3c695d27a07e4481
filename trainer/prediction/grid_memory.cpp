// trainer/prediction/grid_memory.cpp: dry runs, as for the plan of a run.
#include "trainer/prediction/grid_memory.h"

#include <algorithm>

#include "model/transformer.h"
#include "parallel/planned_group.h"
#include "trainer/plan/memory_plan.h"
#include "trainer/plan/precision.h"
#include "trainer/trainer.h"

namespace weft {
namespace {

MemoryPlan plan_of_gpu(const RunConfig& c, const TensorParallel& tp) {
  ParamStore params(tp.rank(), tp.size(), storage_of(c.train.precision));
  const Transformer model(c.model, params, /*num_positions=*/1);
  Context dry(Device::cpu, /*dry_run=*/true);
  const auto numel = static_cast<size_t>(params.numel());
  MemoryPlan plan{.device = Device::cuda};
  plan.gradients = numel * sizeof(float);
  plan.parameters = plan.gradients + static_cast<size_t>(longest_row(c.batch)) * model.positions_bytes();
  plan.copies = params.mixed() ? numel * size_of(params.compute_dtype()) : 0;
  plan.moments = 2 * plan.gradients;
  plan.activations = arena_bytes(c, tp, dry);
  return plan;
}

}  // namespace

MemoryPlan grid_memory(const Machine& machine, const RunConfig& c) {
  const auto group = make_planned_group(static_cast<int>(c.parallel.tp));
  const TensorParallel tp(*group);
  return machine.is_gpu() ? plan_of_gpu(c, tp) : plan_tensors(c, tp, Device::cpu);
}

}  // namespace weft
