// trainer/signals.h: what the outside asks of a running job. A handler only sets a flag; the ranks agree on the
// strongest request in every step, so that all act after the same step and no rank waits for one that has gone.
#pragma once

#include <cstdint>

namespace weft {

// SIGUSR1: save and go on; the run's time is over: validate, save, end; SIGTERM, SIGINT: save and stop.
enum class StopRequest : uint8_t { none = 0, save = 1, finish = 2, stop = 3 };

class SignalWatch {  // handlers are installed while it lives; a second SIGTERM or SIGINT ends the process at once
 public:
  SignalWatch();
  ~SignalWatch();
  SignalWatch(const SignalWatch&) = delete;
  SignalWatch& operator=(const SignalWatch&) = delete;

  StopRequest take();       // what this rank was asked for since the last call
  int stop_signal() const;  // which signal asked to stop; 0 if none
};

}  // namespace weft
