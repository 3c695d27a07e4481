// trainer/signals.h: handles signals that ask a running job to save or stop. A handler only sets a flag. In every step
// the ranks agree on the strongest request, so all ranks act after the same step and none waits for a stopped rank.
#pragma once

#include <cstdint>

namespace weft {

// SIGUSR1 requests `save`, after which the run continues. Every other signal below requests `stop`, which saves first.
// When train.minutes are over, the run requests `finish`, which means that it validates, saves and ends.
enum class StopRequest : uint8_t { none = 0, save = 1, finish = 2, stop = 3 };

// Handles SIGUSR1, SIGTERM, SIGINT, SIGHUP (the terminal is gone), SIGUSR2 (a scheduler's notice before a kill) and
// SIGXCPU (the CPU time limit) during its lifetime. A stop signal that arrives kSecondSignalSeconds or more after the
// first ends the process immediately. A second signal that arrives earlier is ignored, because Slurm sends SIGTERM
// twice within 4 ms. SIGUSR2 never ends the process, because `weft launch` repeats it. SIGPIPE is ignored so that `weft
// train 2>&1 | head` keeps training. SIGHUP stays ignored if it was ignored before (nohup).
//
// The destructor restores the former handlers, except that it leaves SIGUSR1 and SIGUSR2 ignored, because a request to
// a run that has just ended must not make the run fail.
//
// If ranks are threads of one process, the first SignalWatch installs the handlers and the last one removes them.
class SignalWatch {
 public:
  static constexpr int64_t kSecondSignalSeconds = 2;

  SignalWatch();
  ~SignalWatch();
  SignalWatch(const SignalWatch&) = delete;
  SignalWatch& operator=(const SignalWatch&) = delete;

  StopRequest take();       // this rank's request since the last call; `stop` is returned by every call
  int stop_signal() const;  // the signal that requested the stop; 0 if none
};

bool is_ignored(int signal);  // true if this process ignores the signal

}  // namespace weft
