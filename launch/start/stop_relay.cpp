// launch/start/stop_relay.cpp: translates signals and the status that they lead to.
#include "launch/start/stop_relay.h"

#include <csignal>

#include "trainer/signals.h"

namespace weft {

int StopRelay::relay(int signal, double seconds) {
  if (signal == SIGUSR1) return SIGUSR1;
  if (first_ == 0) {
    first_ = signal;
    first_seconds_ = seconds;
    return SIGUSR2;
  }
  if (seconds - first_seconds_ < static_cast<double>(SignalWatch::kSecondSignalSeconds)) return 0;
  impatient_ = true;
  return SIGTERM;
}

int StopRelay::status(int of_ranks) const {
  const bool stopped = first_ != 0 && (impatient_ || of_ranks == 128 + SIGUSR2);
  return stopped ? 128 + first_ : of_ranks;
}

}  // namespace weft
