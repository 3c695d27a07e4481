// trainer/plan/prepare_run.h: all decisions before a run allocates or writes anything, shared by training and
// --dry-run.
#pragma once

#include <string>

#include "parallel/mesh.h"
#include "parallel/placement/report.h"
#include "trainer/plan/resolve.h"

namespace weft {

struct PreparedRun : ResolvedRun {  // its precision decided
  RunConfig kept;                   // what the run's folder and checkpoints keep of it
  std::string config_text;          // the same as text
  std::string resume_from;          // the checkpoint that the run resumes from; empty: a new run
  PlacementReport placement;        // on the main rank
  std::string remark;               // a line on the precision for the plan, or empty
};

// `own`: this rank's device. All ranks call it, before any op, and get the same
// result. Binds them to cores.
// Options that the run would refuse are an Error of kind usage.
PreparedRun prepare_run(ResolvedRun resolved, const RankDevice& own, Communicator& world);

// The plan for the ranks of a tp group, as one screen of text.
std::string plan_run(const PreparedRun& run, const Mesh& mesh);

// An Error of kind usage if the tensors do not fit into the ranks' GPUs; a warning if they barely do; otherwise empty.
// All ranks of `mesh` call it.
std::string require_fit_on_gpus(const PreparedRun& run, const Mesh& mesh);

}  // namespace weft
