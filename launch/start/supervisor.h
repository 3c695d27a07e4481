// launch/start/supervisor.h: runs mpirun or srun as a child and passes signals on to it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "launch/start/stop_relay.h"

namespace weft {

class OutputRelay;

// Receives the signals of this process while it exists. REQUIRES: no other Supervisor, and no thread at construction.
class Supervisor {
 public:
  explicit Supervisor(StopRelay relay = StopRelay());
  ~Supervisor();
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;

  // Both functions return the program's status after its output is written, or 128 + N if signal N ended it.
  //
  // Runs training in a separate session, so that a terminal's Ctrl-C reaches only this process, which sends what
  // stop_relay.h decides. If this process is killed, the program gets SIGUSR2. SIGUSR1 is passed on only after
  // `can_save`, because it would end ranks that are starting. If the output loses its reader, it is discarded.
  int run_training(const std::vector<std::string>& command, const std::function<bool()>& can_save);
  // Runs another command. Passes on signals unchanged, and SIGTERM if this process is killed. The program can read the
  // terminal. If its output loses its reader, it ends with status 141. Error if a disk is full.
  int run_other(const std::vector<std::string>& command);

  // Runs programs in parallel, without input and output. Returns for each whether it returned 0 within the time, and
  // kills those that take longer. Each gets its own temporary TMPDIR, because mpiruns that start at the same time can
  // fail while they create a session folder that they share.
  std::vector<bool> succeed(const std::vector<std::vector<std::string>>& commands, double seconds);

  void pause(double seconds);  // returns earlier on a request to stop

  const StopRelay& relay() const { return relay_; }  // has seen all signals so far
  bool stopped() const { return relay_.stop_signal() != 0; }

 private:
  int next_signal(double seconds, bool* from_terminal = nullptr);  // 0: none within the time, or a child ended
  void wait_for_rest(OutputRelay& output);

  StopRelay relay_;
};

}  // namespace weft
