// trainer/prediction/grid_memory.cpp: dry runs, as for the plan of a run.
#include "trainer/prediction/grid_memory.h"

#include <algorithm>

#include "model/transformer.h"
#include "parallel/planned_group.h"
#include "trainer/plan/memory_plan.h"
#include "trainer/precision.h"
#include "trainer/trainer.h"

namespace weft {
namespace {

MemoryPlan plan_of_gpu(const RunConfig& c, const TensorParallel& tp) {
  ParamStore params(tp.rank(), tp.size(), storage_of(c.train.precision));
  const Transformer model(c.model, params, /*num_positions=*/1);
  Context dry(Device::cpu, /*dry_run=*/true);
  const int shards = static_cast<int>(c.parallel.zero > 0 ? std::max<int64_t>(c.parallel.dp, 1) : 1);
  params.lay_out(shards);
  const auto f32 = [](int64_t numel) { return static_cast<size_t>(numel) * sizeof(float); };
  const int64_t own = params.matrix_numel() / shards + params.vector_numel();
  MemoryPlan plan{.device = Device::cuda};
  plan.gradients = f32(params.numel());
  if (c.parallel.gradient_type != GradientType::f32 && shards > 1) plan.gradients += f32(params.matrix_numel()) / 2;
  plan.parameters =
      f32(params.mixed() ? own : params.numel()) + static_cast<size_t>(longest_row(c.batch)) * model.positions_bytes();
  plan.copies = params.mixed() ? static_cast<size_t>(params.numel()) * size_of(params.compute_dtype()) : 0;
  plan.moments = 2 * f32(own);
  plan.average = c.train.ema > 0 ? f32(own) : 0;
  if (c.optimizer.kind == OptimizerKind::muon) {
    plan.moments -= f32(Muon::elements_of(params).count);
    plan.scratch = Muon::scratch_bytes(params);
  }
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
