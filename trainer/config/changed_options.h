// trainer/config/changed_options.h: compares configurations, and decides which options may change when a run resumes.
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

// Returns the options whose values differ, in the order of `to`. If only one configuration contains a stage or its
// schedule, only the first option of this stage or schedule is listed, with "not given" as the other value.
std::vector<ChangedOption> changed_options(const RunConfig& from, const RunConfig& to);

// Throws an Error of kind usage that names options that have changed since the run started but must not change. First
// checks the options that no run may change (OnResume). Then, unless `allow_changes`, checks the options that affect
// the training: options marked `retrains` and, for the `num_stages` started stages, their schedules, the ends of all
// but the last stage, and the steps over which the last schedule decays.
void require_resumable(const RunConfig& from, const RunConfig& to, size_t num_stages, bool allow_changes);

// Throws an Error of kind usage that names an option whose value differs between this run's model and the model of the
// checkpoint in `folder`, even if all tensors have the same names and shapes.
void require_same_model(const ModelConfig& in_folder, const ModelConfig& now, const std::string& folder);

}  // namespace weft
