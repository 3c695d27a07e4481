// trainer/config/changed_options.h: compares two configurations, and decides which changes a resumed run may have.
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

// Returns options with different values, in the order of `to`. A stage of the data, or a stage's schedule, that only
// one of the two has is listed by its first option, with "not given" for the other.
std::vector<ChangedOption> changed_options(const RunConfig& from, const RunConfig& to);

// Throws an Error of kind usage that names what has changed since a run started but must not. It looks first for
// options that no run can change (OnResume) and then, unless `allow_changes`, for those with which the run would train
// differently. These are the options marked as such and, for the first `num_stages` stages of the data, which have
// started, the schedules, the ends of all but the last one, and the steps over which that one decays.
void require_resumable(const RunConfig& from, const RunConfig& to, size_t num_stages, bool allow_changes);

// Throws an Error of kind usage that names an option in which the model of a checkpoint in `folder` differs from this
// run's, if the names and shapes of its tensors do not show it.
void require_same_model(const ModelConfig& in_folder, const ModelConfig& now, const std::string& folder);

}  // namespace weft
