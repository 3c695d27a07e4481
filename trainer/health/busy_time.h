// trainer/health/busy_time.h: how long a rank worked, without its waits for other ranks.
//
// Over MPI, also for tensors of GPUs that go through host memory. Over NCCL ranks wait on their GPUs, which this
// does not see.
#pragma once

#include "parallel/communicator.h"

namespace weft {

class BusyTime {
 public:
  explicit BusyTime(const Communicator& world) : world_(world) {}

  void resume();  // does nothing if it runs
  void pause();
  double take();  // seconds since the last take(), without pauses; while it runs

 private:
  double now() const;  // seconds of a clock that stands still during waits

  const Communicator& world_;
  bool running_ = false;
  double since_ = 0, before_ = 0;
};

}  // namespace weft
