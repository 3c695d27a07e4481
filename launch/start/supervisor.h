// launch/start/supervisor.h: runs mpirun or srun as a child and passes signals on to it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "launch/start/stop_relay.h"

namespace weft {

class OutputRelay;

// Takes the signals of this process while it lives; one at a time. Make it before any thread is started.
class Supervisor {
 public:
  explicit Supervisor(StopRelay relay = StopRelay());
  ~Supervisor();
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;

  // Both run a program until it ends and its output is written, and return its status, 128 + N if signal N ended it.
  //
  // Training: the program has a session of its own, so that a terminal's Ctrl-C reaches only this process, which passes
  // on what stop_relay.h says. If this process is killed, the program gets SIGUSR2. SIGUSR1 is passed on only if ranks
  // are there that `can_save`: others would end by it. When nothing reads the output, it is lost.
  int run_training(const std::vector<std::string>& command, const std::function<bool()>& can_save);
  // Others, which have nothing to save: signals are passed on as they are, and SIGTERM if this process is killed. The
  // program can read the terminal. It ends when nothing reads its output: status 141, or an Error if a disk is full.
  int run_other(const std::vector<std::string>& command);

  // Runs programs side by side, without input and output. For each, whether it returned 0 within the time; those that
  // take longer are killed. Each has a TMPDIR of its own, removed at the end: of mpiruns that begin together, some fail
  // while they make the session folder that they would share.
  std::vector<bool> succeed(const std::vector<std::vector<std::string>>& commands, double seconds);

  void pause(double seconds);  // or until a request to stop

  const StopRelay& relay() const { return relay_; }  // of all signals so far
  bool stopped() const { return relay_.stop_signal() != 0; }

 private:
  int next_signal(double seconds, bool* from_terminal = nullptr);  // 0: none within the time, or a child ended
  void wait_for_rest(OutputRelay& output);

  StopRelay relay_;
};

}  // namespace weft
