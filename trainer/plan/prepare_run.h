// trainer/plan/prepare_run.h: all decisions before a run allocates or writes anything, shared by training and
// --dry-run.
#pragma once

#include <functional>
#include <string>

#include "parallel/mesh.h"
#include "parallel/placement/report.h"
#include "trainer/run_config.h"

namespace weft {

using ConfigText = std::function<std::string(const RunConfig&)>;  // as a .cfg file

// The configuration that a run's folder keeps: without what counts for one start alone.
std::string text_to_keep(RunConfig config, const ConfigText& to_text);

struct PreparedRun {
  RunConfig config;           // resolved, its precision decided
  std::string config_text;    // text_to_keep()
  std::string resume_from;    // the checkpoint that the run resumes from; empty: a new run
  PlacementReport placement;  // on the main rank
  std::string remark;         // a line on the precision for the plan, or empty
};

// `config` is resolved for `world`; `own`: this rank's device. All ranks call it, before any op, and get the same
// result. Binds them to cores.
// Options that the run would refuse are an Error of kind usage.
PreparedRun prepare_run(const RunConfig& config, const ConfigText& to_text, const RankDevice& own, Communicator& world);

// The plan for the ranks of a tp group, as one screen of text.
std::string plan_run(const PreparedRun& run, const Mesh& mesh);

// An Error of kind usage if the tensors do not fit into the ranks' GPUs; a warning if they barely do; otherwise empty.
// All ranks of `mesh` call it.
std::string require_fit_on_gpus(const PreparedRun& run, const Mesh& mesh);

}  // namespace weft
