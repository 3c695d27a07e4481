// trainer/plan/prepare_run.h: what is decided before a run makes anything. Training and --dry-run decide it alike.
#pragma once

#include <string>

#include "parallel/mesh.h"
#include "trainer/run_config.h"

namespace weft {

struct PreparedRun {
  RunConfig config;         // resolved, its precision decided
  std::string resume_from;  // the checkpoint that the run resumes from; empty: a new run
  std::string remark;       // on the precision, a line for the plan; or empty
};

// `config` is resolved for `world`; `own`: this rank's device. All ranks call it and get the same; what the run would
// refuse is refused here, as an Error of kind usage.
PreparedRun prepare_run(const RunConfig& config, const RankDevice& own, Communicator& world);

// The plan for the ranks of a tp group, one screen, and whether its tensors fit into their GPUs: an Error of kind usage
// if they do not. All ranks of `mesh` call it.
struct RunPlan {
  std::string text;
  std::string tight_fit;  // a warning, or empty
};
RunPlan plan_run(const PreparedRun& run, const Mesh& mesh);

}  // namespace weft
