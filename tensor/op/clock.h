// tensor/op/clock.h: the time that all measurements and waits go by.
#pragma once

#include <chrono>

namespace weft {

inline double monotonic_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace weft
