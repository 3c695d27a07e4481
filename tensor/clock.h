// tensor/clock.h: defines the clock that all time measurements use.
#pragma once

#include <chrono>

namespace weft {

inline double monotonic_seconds() {  // seconds since an arbitrary fixed time
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace weft
