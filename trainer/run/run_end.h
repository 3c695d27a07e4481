// trainer/run/run_end.h: lists the reasons why a run ends.
#pragma once

#include <cstdint>

namespace weft {

enum class RunEnd : uint8_t {
  none,      // the run continues
  steps,     // train.steps is reached
  data,      // the last stage is over, or train.epochs or train.tokens are
  minutes,   // train.minutes are over
  patience,  // train.patience is exhausted
  stop,      // a signal asked the run to stop; the run is unfinished and can resume
};

}  // namespace weft
