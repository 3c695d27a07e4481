// launch/start/stop_relay.cpp: chooses the signals for mpirun or srun, and computes our exit status.
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
  if (impatient_) return again(seconds);  // a second SIGTERM would make mpirun exit without ending its ranks
  impatient_seconds_ = seconds;
  impatient_ = true;
  return SIGTERM;
}

int StopRelay::again(double seconds) const {
  if (first_ == 0) return 0;
  if (!impatient_) return SIGUSR2;
  return seconds - impatient_seconds_ >= longest_end_ ? SIGKILL : 0;
}

int StopRelay::status(int of_ranks) const {
  const bool stopped = first_ != 0 && (impatient_ || of_ranks == 128 + SIGUSR2);
  return stopped ? 128 + first_ : of_ranks;
}

}  // namespace weft
