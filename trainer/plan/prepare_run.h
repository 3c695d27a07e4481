// trainer/plan/prepare_run.h: makes all decisions before a run allocates or writes anything, also for --dry-run.
#pragma once

#include <string>

#include "parallel/mesh.h"
#include "parallel/placement/report.h"
#include "trainer/plan/resolve.h"

namespace weft {

struct PreparedRun : ResolvedRun {  // including its precision
  RunConfig kept;                   // the configuration stored in the run's folder and checkpoints
  std::string config_text;          // `kept` as text
  std::string resume_from;          // checkpoint to resume from; empty: a new run
  PlacementReport placement;        // on the main rank
  std::string remark;               // a line about the precision for the plan, or empty
};

// Prepares a run and binds the ranks to cores. All ranks call it, before any op, and get the same result. Throws an
// Error of kind usage for options that the run would reject. `own` is this rank's device.
PreparedRun prepare_run(ResolvedRun resolved, const RankDevice& own, Communicator& world);

// Returns the plan for the ranks of a tp group, as one screen of text.
std::string plan_run(const PreparedRun& run, const Mesh& mesh);

// Throws an Error of kind usage if the tensors do not fit into the ranks' GPUs. Returns a warning if they barely fit,
// otherwise "". All ranks of `mesh` call it.
std::string require_fit_on_gpus(const PreparedRun& run, const Mesh& mesh);

}  // namespace weft
