// trainer/signals.h: stop and save requests to a running job. A handler only sets a flag; in every step the
// ranks agree on the strongest request, so that all act after the same step and none waits for a rank that
// has stopped.
#pragma once

#include <cstdint>

namespace weft {

// SIGUSR1: save and continue. The run's time is over: validate, save, end. Every other signal below: save and
// stop.
enum class StopRequest : uint8_t { none = 0, save = 1, finish = 2, stop = 3 };

// Handles, while it lives, SIGUSR1; SIGTERM, SIGINT, SIGHUP (the terminal is gone), SIGUSR2 (a scheduler's
// notice of a kill) and SIGXCPU (the limit of processor time). One that comes kSecondSignalSeconds or more after
// the first asks impatiently and ends the process at once. One that comes sooner is a scheduler's repetition:
// Slurm sends SIGTERM twice within 4 ms. SIGUSR2 is never impatient: `weft launch` repeats it. SIGPIPE is
// ignored, so that `weft train 2>&1 | head` trains on. SIGHUP stays ignored if it was (nohup).
//
// Afterwards signals do again what they did before, except SIGUSR1 and SIGUSR2, which are ignored: a request that
// comes when a run has just ended must not make it a failed one.
//
// Ranks that are threads of one process share one: the first watch sets it up, the last one ends it.
class SignalWatch {
 public:
  static constexpr int64_t kSecondSignalSeconds = 2;

  SignalWatch();
  ~SignalWatch();
  SignalWatch(const SignalWatch&) = delete;
  SignalWatch& operator=(const SignalWatch&) = delete;

  StopRequest take();       // this rank's request since the last call
  int stop_signal() const;  // the signal that requested the stop; 0 if none
};

bool is_ignored(int signal);  // by this process

}  // namespace weft
