// trainer/signals.h: stop and save requests to a running job. A handler only sets a flag; in every step the
// ranks agree on the strongest request, so that all act after the same step and none waits for a rank that
// has stopped.
#pragma once

#include <cstdint>

namespace weft {

// SIGUSR1: save and continue; the run's time is over: validate, save, end; SIGTERM, SIGINT: save and stop.
enum class StopRequest : uint8_t { none = 0, save = 1, finish = 2, stop = 3 };

class SignalWatch {  // handlers are installed while it lives; a second SIGTERM or SIGINT ends the process at once
 public:
  SignalWatch();
  ~SignalWatch();
  SignalWatch(const SignalWatch&) = delete;
  SignalWatch& operator=(const SignalWatch&) = delete;

  StopRequest take();       // this rank's request since the last call
  int stop_signal() const;  // the signal that requested the stop; 0 if none
};

}  // namespace weft
