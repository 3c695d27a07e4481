// tensor/clock.h: the clock for all time measurements.
#pragma once

#include <chrono>

namespace weft {

inline double monotonic_seconds() {  // seconds since an arbitrary fixed time
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace weft
