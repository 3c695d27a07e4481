// tensor/on_resume.h: defines what happens if an option has a different value when a run resumes. Each option declares
// one of these values in fields(v) (trainer/config/run_config.h).
#pragma once

#include <cstdint>

namespace weft {

enum class OnResume : uint8_t {
  may_change,     // allowed, because steps compute the same or users intend the change: grid, saves, end of the run
  retrains,       // allowed only with train.allow_changes, because it changes the training
  ends_stage,     // not allowed for a stage that has ended; allowed for the current and later stages
  order,          // never allowed, because the place in the data depends on this option
  model,          // never allowed, because the parameters belong to the old model
  optimizer,      // never allowed, because the state belongs to the old optimizer
  has_no_effect,  // allowed, because a resumed run does not use the option
  this_start,     // applies to one start only, so checkpoints do not contain it
};

}  // namespace weft
