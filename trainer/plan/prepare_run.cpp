// trainer/plan/prepare_run.cpp: finds the checkpoint to resume from, chooses the precision, checks that the run fits.
#include "trainer/plan/prepare_run.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "model/parameters/memory_limit.h"
#include "model/transformer.h"
#include "parallel/device_mesh.h"
#include "parallel/placement/placement.h"
#include "tensor/error.h"
#include "trainer/checkpoint/checkpoint.h"
#include "trainer/config/absolute_paths.h"
#include "trainer/config/changed_options.h"
#include "trainer/config/config_text.h"
#include "trainer/plan/check_options.h"
#include "trainer/plan/memory_fit.h"
#include "trainer/plan/run_plan.h"
#include "trainer/precision.h"
#include "trainer/step/step_graphs.h"
#include "trainer/train_state.h"

namespace weft {
namespace {

struct Origin {
  std::string checkpoint, precision;
  size_t num_stages = 1;  // stages that have started; only on the main rank
};

// Finds the latest checkpoint on the main rank, and broadcasts its folder and precision.
Origin find_origin(const RunConfig& c, Communicator& world) {
  const Origin found = all_or_none(world, [&]() -> Origin {
    if (!world.is_main_rank() || c.train.fresh) return {};
    const auto folder = find_latest_checkpoint(c.train.output + "/checkpoints");
    if (!folder) return {};
    const TrainState state = TrainState::from_json(read_checkpoint_state(*folder), *folder);
    if (state.cursor.num_streams == 0)
      fail(ErrorKind::usage,
           fmt::format("{} contains weights, but no run state to resume from (weft average and weft import write such "
                       "checkpoints): use --train.init={} with a different --train.output",
                       *folder, *folder));
    return {*folder, state.precision, std::max<size_t>(1, state.data.stages.size())};
  });
  return {world.broadcast_string(found.checkpoint, 0), world.broadcast_string(found.precision, 0), found.num_stages};
}

}  // namespace

PreparedRun prepare_run(ResolvedRun resolved, const RankDevice& own, Communicator& world) {
  PreparedRun run;
  static_cast<ResolvedRun&>(run) = std::move(resolved);
  RunConfig& c = run.config;
  run.placement = place_ranks(c.parallel.bind, own, world);
  const Origin origin = find_origin(c, world);
  const PrecisionChoice choice =
      choose_precision(c.train.precision, half_instructions(own.device, world), origin.precision);
  c.train.precision = choice.precision;
  run.resume_from = origin.checkpoint;
  run.remark = choice.remark;
  run.kept = with_absolute_paths(config_to_keep(c));
  run.config_text = to_cfg(run.kept);
  all_or_none(world, [&] {
    if (!world.is_main_rank() || run.resume_from.empty()) return;
    require_resumable(with_absolute_paths(kept_config(run.resume_from)), run.kept, origin.num_stages,
                      c.train.allow_changes);
  });
  require_communication(own.device, c.parallel.communication);
  require_gpu_to_tune(c, own.device);
  c.train.cuda_graph = choose_graphs(c, own);
  return run;
}

std::string plan_run(const PreparedRun& run, const Mesh& mesh) {
  const RunConfig& c = run.config;
  const TensorParallel tp(mesh.tp());
  ParamStore params(tp.rank(), tp.size(), storage_of(c.train.precision), Device::cpu, ParamUse::training,
                    frozen_names(c));
  const Transformer model(c.model, params, /*num_positions=*/1);
  const bool on_host = mesh.device() == Device::cpu;
  if (on_host) params.require_memory();  // fails early, before anything is planned
  const MemoryPlan memory = plan_memory(run, tp, mesh.own());
  if (on_host) require_fit_on_host(c, tp, memory, memory_limit());
  const std::string plan = describe_plan(run, params, memory, mesh.own(), run.placement);
  return run.remark.empty() ? plan : plan + "  " + run.remark + "\n";
}

std::string require_fit_on_gpus(const PreparedRun& run, const Mesh& mesh) {
  if (mesh.device() != Device::cuda) return "";
  return all_or_none(mesh.world(),
                     [&] { return require_fit_on_gpu(run.config, TensorParallel(mesh.tp()), mesh.own()); });
}

}  // namespace weft
