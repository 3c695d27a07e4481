// tensor/on_resume.h: what becomes of an option that has another value when a run resumes; it stands beside the option
// in fields(v) (trainer/config/run_config.h).
#pragma once

#include <cstdint>

namespace weft {

enum class OnResume : uint8_t {
  may_change,     // it does not change what a step computes, or is meant to change: grid, saves, the end of the run
  retrains,       // the training would be another one: only with train.allow_changes
  ends_stage,     // of a stage that is past it may not change either; a later one may end elsewhere
  order,          // never: the place in the data depends on it
  model,          // never: the parameters would mean another model
  optimizer,      // never: the state is that of another optimizer
  has_no_effect,  // a run that resumes does not use it
  this_start,     // belongs to one start alone; checkpoints do not keep it
};

}  // namespace weft
