// trainer/run/run_end.h: why a run ends.
#pragma once

#include <cstdint>

namespace weft {

enum class RunEnd : uint8_t {
  none,      // it continues
  steps,     // train.steps
  data,      // the end of the last stage
  minutes,   // train.minutes
  patience,  // train.patience
  stop,      // a signal: the run is not finished, and can resume
};

}  // namespace weft
