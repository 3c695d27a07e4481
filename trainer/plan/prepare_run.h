// trainer/plan/prepare_run.h: makes all decisions before the run allocates or writes anything.
#pragma once

#include <string>

#include "parallel/mesh.h"
#include "parallel/placement/report.h"
#include "trainer/plan/resolve.h"

namespace weft {

struct PreparedRun : ResolvedRun {  // its precision is resolved
  RunConfig kept;                   // the configuration stored in the run's folder and checkpoints: absolute paths
  std::string config_text;          // `kept` as text
  std::string resume_from;          // checkpoint to resume from; empty: a new run
  PlacementReport placement;        // complete only on the main rank
  std::string remark;               // the plan's line about the precision, or empty
};

// Prepares a run and binds the ranks to cores. All ranks must call this before any op, and get the same result. Throws
// an Error of kind usage for options that the run would reject. `own` is this rank's device.
PreparedRun prepare_run(ResolvedRun resolved, const RankDevice& own, Communicator& world);

// Returns the plan, which shows the memory of this rank, as one screen of text.
std::string plan_run(const PreparedRun& run, const Mesh& mesh);

// Throws an Error of kind usage if the tensors do not fit into the ranks' GPUs. Returns a warning if the tensors barely
// fit, otherwise "". All ranks of `mesh` must call this.
std::string require_fit_on_gpus(const PreparedRun& run, const Mesh& mesh);

}  // namespace weft
