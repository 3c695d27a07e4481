// tensor/on_resume.h: what happens if an option has a different value when a run resumes. Each option in fields(v)
// declares it (trainer/config/run_config.h).
#pragma once

#include <cstdint>

namespace weft {

enum class OnResume : uint8_t {
  may_change,     // allowed, because steps compute the same or a change is intended: grid, saves, the end of the run
  retrains,       // allowed only with train.allow_changes, because it changes the training
  ends_stage,     // not allowed for a stage that has ended; allowed for the current and later stages
  order,          // never allowed, because the place in the data depends on it
  model,          // never allowed, because the parameters belong to the old model
  optimizer,      // never allowed, because the state belongs to the old optimizer
  has_no_effect,  // allowed: a run that resumes does not use it
  this_start,     // belongs to one start only; checkpoints do not contain it
};

}  // namespace weft
