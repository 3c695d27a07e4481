// trainer/health/busy_time.h: measures how long a rank worked, without its waits for other ranks.
//
// It sees waits over MPI, including those for GPU tensors that go through host memory. Over NCCL ranks wait on their
// GPUs, which it does not see.
#pragma once

#include "parallel/communicator.h"

namespace weft {

class BusyTime {
 public:
  explicit BusyTime(const Communicator& world) : world_(world) {}

  void resume();  // does nothing while it runs
  void pause();
  double take();  // seconds since the last take(), without pauses; call it while it runs

 private:
  double now() const;  // seconds of a clock that stops during waits

  const Communicator& world_;
  bool running_ = false;
  double since_ = 0, before_ = 0;
};

}  // namespace weft
