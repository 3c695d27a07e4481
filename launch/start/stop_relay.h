// launch/start/stop_relay.h: decides which signals the launcher sends to mpirun or srun.
//
// Open MPI kills ranks one second after SIGINT or SIGTERM. Open MPI and srun pass SIGUSR1 and SIGUSR2 on and wait.
// To Weft's ranks, SIGUSR2 means "save and stop", and SIGUSR1 means "save and continue" (trainer/signals.h).
#pragma once

namespace weft {

class StopRelay {
 public:
  static constexpr double kLongestEnd = 5;  // seconds that ranks get to exit after an impatient request
  explicit StopRelay(double longest_end = kLongestEnd) : longest_end_(longest_end) {}

  // Returns the signal to send, or 0. `seconds` is the current time of any steady clock. The first request to stop
  // becomes SIGUSR2. Requests in the next two seconds are ignored. A later request is impatient and becomes SIGTERM.
  int relay(int signal, double seconds);

  // Returns the signal to send every second while the ranks still run. SIGUSR2 is repeated because mpirun passes it on
  // only to ranks that have already started. SIGKILL ends the processes that still run after an impatient request.
  int again(double seconds) const;

  int stop_signal() const { return first_; }  // first request to stop; 0: none
  bool impatient() const { return impatient_; }

  // Returns the launcher's exit status: 128 + N if signal N made the ranks stop, otherwise the ranks' exit status.
  int status(int of_ranks) const;

 private:
  double longest_end_;
  int first_ = 0;
  double first_seconds_ = 0, impatient_seconds_ = 0;
  bool impatient_ = false;
};

}  // namespace weft
