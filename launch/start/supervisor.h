// launch/start/supervisor.h: runs mpirun or srun as a child and passes signals on to it.
#pragma once

#include <string>
#include <vector>

#include "launch/start/stop_relay.h"

namespace weft {

// Takes the signals of this process while it lives; one at a time. Make it before any thread is started.
class Supervisor {
 public:
  Supervisor();
  ~Supervisor();
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;

  // Runs a program until it ends; returns its status, 128 + N if signal N ended it. It has a session of its own, so
  // that a terminal's Ctrl-C reaches only this process. If this process is killed, the child gets SIGUSR2.
  int run(const std::vector<std::string>& command);

  // Runs programs side by side, without input and output. For each, whether it returned 0 within the time; those that
  // take longer are killed.
  std::vector<bool> succeed(const std::vector<std::vector<std::string>>& commands, double seconds);

  void pause(double seconds);  // or until a request to stop

  const StopRelay& relay() const { return relay_; }  // of all signals so far
  bool stopped() const { return relay_.stop_signal() != 0; }

 private:
  int next_signal(double seconds);  // 0: none within the time

  StopRelay relay_;
};

}  // namespace weft
