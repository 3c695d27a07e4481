// launch/start/supervisor.h: runs mpirun or srun as a child and passes signals on to it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "launch/start/rank_watch.h"
#include "launch/start/stop_relay.h"

namespace weft {

class OutputRelay;

// Receives the signals of this process. REQUIRES: no other Supervisor exists and, at construction, no other thread.
class Supervisor {
 public:
  explicit Supervisor(StopRelay relay = StopRelay());
  ~Supervisor();
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;

  // Both functions wait until all output is written. They return the child's exit status, or 128 + N after signal N.
  //
  // Runs training in a separate session, so that a terminal's Ctrl-C reaches only this process, which sends the
  // signals chosen by StopRelay. If this process is killed, the program gets SIGUSR2. SIGUSR1 is passed on only once
  // can_save() is true, because it would end ranks that are still starting. Output that nothing reads is discarded.
  // If `watch` finds that mpirun must be killed, says why and returns the status of a lost rank.
  int run_training(const std::vector<std::string>& command, const std::function<bool()>& can_save,
                   RankWatch watch = RankWatch());
  // Runs a command other than train. Passes signals on unchanged, and sends SIGTERM if this process is killed. The
  // program can read the terminal. Returns 141 if nothing reads the output. Error of kind io if a disk is full.
  int run_other(const std::vector<std::string>& command);

  // Runs programs in parallel, without input, and kills those that do not end in time. Each program has a separate
  // TMPDIR, because mpiruns that create the same session folder can fail.
  struct Outcome {
    std::optional<int> status;  // none: killed
    std::string output;         // standard output and standard error
  };
  std::vector<Outcome> run_briefly(const std::vector<std::vector<std::string>>& commands, double seconds);

  void pause(double seconds);  // returns earlier on a request to stop

  const StopRelay& relay() const { return relay_; }  // knows all signals received so far
  bool stopped() const { return relay_.stop_signal() != 0; }

 private:
  int next_signal(double seconds, bool* from_terminal = nullptr);  // 0: none within the time, or a child ended
  void wait_for_rest(OutputRelay& output);

  StopRelay relay_;
};

}  // namespace weft
