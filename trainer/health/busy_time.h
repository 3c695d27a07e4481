// trainer/health/busy_time.h: measures how long a rank has worked, without its waits for other ranks.
//
// Only waits in MPI calls are subtracted, including those for GPU tensors that go through host memory. With NCCL, ranks
// wait on their GPUs, where this class cannot see the waits.
#pragma once

#include "parallel/communicator.h"

namespace weft {

class BusyTime {
 public:
  explicit BusyTime(const Communicator& world) : world_(world) {}

  void resume();  // does nothing if the clock is running
  void pause();
  double take();  // seconds since the last take(), without pauses; REQUIRES: running

 private:
  double now() const;  // seconds of a clock that stops during waits

  const Communicator& world_;
  bool running_ = false;
  double since_ = 0, before_ = 0;
};

}  // namespace weft
