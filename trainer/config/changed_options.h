// trainer/config/changed_options.h: compares configurations, and decides which options may change on resuming.
#pragma once

#include <string>
#include <vector>

#include "trainer/config/run_config.h"

namespace weft {

struct ChangedOption {
  std::string name;      // "train.seed"
  std::string from, to;  // values as in a .cfg file
  OnResume on_resume;
};

// Returns the options with different values, in the order of `to`. If only one configuration has a stage of the data,
// or a schedule for it, the stage or schedule is listed as its first option, with "not given" as the other value.
std::vector<ChangedOption> changed_options(const RunConfig& from, const RunConfig& to);

// Throws an Error of kind usage that names options that have changed since a run started but must not. First it checks
// options that no run can change (OnResume) and then, unless `allow_changes`, options that change the training: those
// marked as such and, for the `num_stages` stages that have started, their schedules, the ends of all but the last
// stage, and the steps over which the last one decays.
void require_resumable(const RunConfig& from, const RunConfig& to, size_t num_stages, bool allow_changes);

// Throws an Error of kind usage that names an option with which the model of a checkpoint in `folder` differs from this
// run's, even if all tensors have the same names and shapes.
void require_same_model(const ModelConfig& in_folder, const ModelConfig& now, const std::string& folder);

}  // namespace weft
