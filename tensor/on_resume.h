// tensor/on_resume.h: what happens if an option has another value when a run resumes. It is given with the option in
// fields(v) (trainer/config/run_config.h).
#pragma once

#include <cstdint>

namespace weft {

enum class OnResume : uint8_t {
  may_change,     // allowed: it does not change what a step computes, or is meant to: grid, saves, the end of the run
  retrains,       // the training would differ: allowed only with train.allow_changes
  ends_stage,     // not allowed in a stage that has passed it; a later stage may end elsewhere
  order,          // never: the place in the data depends on it
  model,          // never: the parameters would mean another model
  optimizer,      // never: the state belongs to another optimizer
  has_no_effect,  // a run that resumes does not use it
  this_start,     // belongs to only one start; checkpoints do not keep it
};

}  // namespace weft
