// trainer/health/busy_time.h: measures how long a rank works, without the time that it waits for other ranks.
//
// Only the time in MPI calls is subtracted, including calls that exchange GPU tensors through host memory. With NCCL,
// the GPUs wait for each other, and this class cannot see their waits.
#pragma once

#include "parallel/communicator.h"

namespace weft {

class BusyTime {
 public:
  explicit BusyTime(const Communicator& world) : world_(world) {}

  void resume();  // does nothing if the clock is running
  void pause();
  double take();  // returns the seconds since the last take(), without pauses; REQUIRES: not paused

 private:
  double now() const;  // reads a clock, in seconds, that stops during waits

  const Communicator& world_;
  bool running_ = false;
  double since_ = 0, before_ = 0;
};

}  // namespace weft
