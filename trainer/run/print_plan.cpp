// trainer/run/print_plan.cpp: prints the plan of a run, but does not start the run.
#include <cstdio>

#include "tensor/error.h"
#include "trainer/plan/prepare_run.h"
#include "trainer/plan/run_plan.h"
#include "trainer/run/run.h"
#include "trainer/run/run_folder.h"

namespace weft {
namespace {

// Returns the number of ranks to plan for if only one rank runs.
int planned_ranks(const RunConfig& c) {
  constexpr int64_t kMax = 1 << 20;
  const int64_t dp = std::max<int64_t>(c.parallel.dp, 1), tp = c.parallel.tp;
  if (dp > kMax || tp > kMax || dp * tp > kMax)
    fail(ErrorKind::usage, fmt::format("parallel.dp = {} x parallel.tp = {} must be at most {} ranks", dp, tp, kMax));
  return static_cast<int>(dp * tp);
}

}  // namespace

void print_plan(const RunConfig& wanted, Communicator& world, OtherPrograms* others) {
  ResolvedRun resolved = resolve(wanted, world, world.size() > 1 ? world.size() : planned_ranks(wanted));
  all_or_none(world, [&] {
    if (world.is_main_rank()) RunFolder::require_checkpoints(resolved.config.train.output, resolved.config.train.fresh);
  });
  const ParallelConfig parallel = resolved.config.parallel;
  const RankDevice own = choose_device(wanted.device, parallel.share_gpu, world);
  PreparedRun run = prepare_run(std::move(resolved), own, world);
  if (others != nullptr) run.placement.others = describe_others(others->share_at_start());
  if (!world.is_main_rank()) return;
  const int threads = num_threads();
  run_thread_ranks(static_cast<int>(parallel.tp), [&](Communicator& tp) {  // one thread per rank of a tp group
    set_num_threads(threads);
    const Mesh mesh(tp, {.dp = 1, .tp = tp.size()}, own);
    const std::string plan = plan_for_screen(plan_run(run, mesh));
    if (tp.is_main_rank()) std::fputs(plan.c_str(), stdout);
    const std::string tight_fit = require_fit_on_gpus(run, mesh);
    if (tp.is_main_rank() && !tight_fit.empty()) fmt::print("  {}\n", tight_fit);
  });
}

}  // namespace weft
