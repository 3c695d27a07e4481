// trainer/signals.h: handles signals that ask a running job to save or stop. A handler only sets a flag. In every step
// the ranks agree on the strongest request, so all ranks act after the same step and none waits for a stopped rank.
#pragma once

#include <cstdint>

namespace weft {

// SIGUSR1 requests `save`, after which the run continues. Every other signal below requests `stop`, which saves first.
// The end of the run's time requests `finish`: the run validates, saves and ends.
enum class StopRequest : uint8_t { none = 0, save = 1, finish = 2, stop = 3 };

// Handles SIGUSR1, SIGTERM, SIGINT, SIGHUP (the terminal is gone), SIGUSR2 (a scheduler's notice before a kill) and
// SIGXCPU (the CPU time limit) during its lifetime. A stop signal that arrives kSecondSignalSeconds or more after the
// first ends the process immediately. An earlier one counts as a repetition, because Slurm sends SIGTERM twice within
// 4 ms. SIGUSR2 never ends the process, because `weft launch` repeats it. SIGPIPE is ignored so that `weft train 2>&1 |
// head` keeps training. SIGHUP stays ignored if it was ignored before (nohup).
//
// Afterwards the former handlers are restored, except that SIGUSR1 and SIGUSR2 are ignored, because a request to a run
// that has just ended must not make it fail.
//
// Ranks that are threads of one process share one watch: the first rank sets it up and the last one ends it.
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

bool is_ignored(int signal);  // whether this process ignores the signal

}  // namespace weft
