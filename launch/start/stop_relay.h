// launch/start/stop_relay.h: what the launcher passes on to mpirun or srun when it gets a signal.
//
// Open MPI kills ranks a second after SIGINT or SIGTERM, but passes SIGUSR1 and SIGUSR2 on and waits. So does
// srun. Weft's ranks take SIGUSR2 as "save and stop", SIGUSR1 as "save and continue" (trainer/signals.h).
#pragma once

namespace weft {

class StopRelay {
 public:
  static constexpr double kLongestEnd = 5;  // seconds that ranks have after an impatient request
  explicit StopRelay(double longest_end = kLongestEnd) : longest_end_(longest_end) {}

  // The signal to send; 0: none. `seconds`: the time now, on any steady clock. The first request to stop becomes
  // SIGUSR2. A repetition within two seconds changes nothing, one after them is impatient: SIGTERM.
  int relay(int signal, double seconds);

  // What to send every second while the ranks are still there. SIGUSR2 again: mpirun passes it on only to ranks that it
  // has started by then. SIGKILL, for all, if an impatient request did not end them.
  int again(double seconds) const;

  int stop_signal() const { return first_; }  // that came first; 0: none
  bool impatient() const { return impatient_; }

  // Status of the launcher: 128 + the signal that it got, if the ranks stopped for it, else theirs.
  int status(int of_ranks) const;

 private:
  double longest_end_;
  int first_ = 0;
  double first_seconds_ = 0, impatient_seconds_ = 0;
  bool impatient_ = false;
};

}  // namespace weft
