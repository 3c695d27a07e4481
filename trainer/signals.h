// trainer/signals.h: what the outside asks of a running job. A handler only sets a flag; the flag travels with the next
// step's reduction, so that all ranks act after the same step and no rank waits for one that has gone.
#pragma once

#include <cstdint>

namespace weft {

enum class Wish : uint8_t { none = 0, save = 1, stop = 2 };  // SIGUSR1: save and go on; SIGTERM, SIGINT: save and stop

class SignalWatch {  // handlers are installed while it lives; a second SIGTERM or SIGINT ends the process at once
 public:
  SignalWatch();
  ~SignalWatch();
  SignalWatch(const SignalWatch&) = delete;
  SignalWatch& operator=(const SignalWatch&) = delete;

  Wish take();              // what this rank was asked for since the last call
  int stop_signal() const;  // which signal asked to stop; 0 if none
};

}  // namespace weft
