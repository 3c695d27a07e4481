// tensor/clock.h: the clock of all measured times.
#pragma once

#include <chrono>

namespace weft {

inline double monotonic_seconds() {  // seconds since some moment in the past
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace weft
