// trainer/step/step_limits.cpp: finds the ops of a step with a dry run, and measures memory bandwidth.
#include "trainer/step/step_limits.h"

#include <algorithm>

#include "data/order/step_plan.h"
#include "parallel/planned_group.h"
#include "tensor/backend.h"
#include "tensor/transfer.h"
#include "trainer/precision.h"
#include "trainer/step/data_sheets.h"
#include "trainer/step/dry_step.h"
#include "trainer/step/repeat.h"
#include "trainer/step/step_flops.h"

namespace weft {
namespace {

constexpr double kSecondsOfCopies = 0.005;
constexpr size_t kMaxCopied = size_t{1} << 28;  // bytes read and written, more than fit into caches

double measured_bandwidth(const Pass& p, Communicator& world) {
  const ArenaScope scope(p.arena);
  const size_t half = std::min(p.arena.capacity(), kMaxCopied) / 2 / 256 * 256;
  const Shape shape{static_cast<int64_t>(half / sizeof(float))};
  const Tensor from = p.arena.tensor(shape), to = p.arena.tensor(shape);
  const Times times = repeat_in_batches(world, p.ctx, kSecondsOfCopies, [&] { copy(p.ctx, from, to); });
  return 2 * static_cast<double>(from.bytes()) / times.best();
}

double memory_bandwidth(const Pass& p, const RankDevice& own, Communicator& world) {
  const double mine = own.device == Device::cpu ? measured_bandwidth(p, world)
                                                : data_sheet_of(device_properties(own.device).name).bandwidth;
  return world.max(mine > 0 ? 0 : 1) > 0 ? 0 : world.sum(mine) / world.size();
}

}  // namespace

double roofline_seconds(const std::vector<OpTrace::Op>& ops, const ProcessorRates& rates) {
  double seconds = 0;
  for (const OpTrace::Op& op : ops) {
    if (is_tp_collective(op.name) || is_dp_collective(op.name)) continue;
    const bool in_f32 = rates.f32_flops > 0 && !op.operands.empty() && op.operands.front().tensor.dtype == DType::f32;
    seconds += std::max(op.cost.flops / (in_f32 ? rates.f32_flops : rates.flops), op.cost.bytes / rates.bandwidth);
  }
  return seconds;
}

double roofline_of_step(const RunConfig& c, Device device, const ProcessorRates& rates) {
  if (rates.flops == 0 || rates.bandwidth == 0) return 0;
  Block empty = BlockBuilder(c.batch.source_rows, c.batch.rows).finish(0);
  const StepOps ops = step_ops(c, empty, device);
  const int64_t most = blocks_of_rank(c.batch.blocks, 0, static_cast<int>(c.parallel.dp)).count;
  return static_cast<double>(most) * roofline_seconds(ops.block, rates) + roofline_seconds(ops.step, rates);
}

StepLimits limits_of_step(const RunConfig& c, const Pass& p, const Mesh& mesh) {
  Communicator& world = mesh.world();
  const DType storage = storage_of(c.train.precision);
  const double ranks = world.size(), given = c.train.peak_flops, given_bandwidth = c.train.memory_bandwidth;
  const double peak = given > 0 ? given * ranks : peak_flops(mesh.own(), storage, world);
  const bool has_both = storage != DType::f32 && c.optimizer.kind == OptimizerKind::muon;  // Muon's products are f32
  const ProcessorRates rates{
      .flops = peak / ranks,
      .f32_flops = has_both ? peak_flops(mesh.own(), DType::f32, world) / ranks : 0,
      .bandwidth = given_bandwidth > 0 ? given_bandwidth : memory_bandwidth(p, mesh.own(), world)};
  return {.flops = peak, .seconds = roofline_of_step(c, mesh.device(), rates)};
}

}  // namespace weft
