// trainer/config/changed_options.h: what differs between two configurations, and which differences a run that resumes
// may have.
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

// Options with different values, in the order of `to`; and stages of the data, and schedules of stages, that only one
// of the two has: by their first option, with "not given" for the other.
std::vector<ChangedOption> changed_options(const RunConfig& from, const RunConfig& to);

// An Error of kind usage names what has changed since a run began, but may not: first options that no run can change
// (OnResume), then, unless `allow_changes`, those with which it would train otherwise than it began. These are the
// options that say so and, of the first `num_stages` stages of the data, which have begun, the schedules, the ends of
// all but the last one, and the steps over which that one decays.
void require_resumable(const RunConfig& from, const RunConfig& to, size_t num_stages, bool allow_changes);

// An Error of kind usage names an option by which the model of a checkpoint in `folder` is another than this run's, if
// the names and shapes of its tensors do not show it.
void require_same_model(const ModelConfig& in_folder, const ModelConfig& now, const std::string& folder);

}  // namespace weft
