// trainer/health/busy_time.cpp: subtracts the time spent in collectives from a clock.
#include "trainer/health/busy_time.h"

#include <cassert>

#include "tensor/clock.h"

namespace weft {

double BusyTime::now() const { return monotonic_seconds() - world_.seconds_waited(); }

void BusyTime::resume() {
  if (running_) return;
  running_ = true;
  since_ = now();
}

void BusyTime::pause() {
  assert(running_);
  running_ = false;
  before_ += now() - since_;
}

double BusyTime::take() {
  assert(running_);
  const double end = now(), busy = before_ + end - since_;
  since_ = end, before_ = 0;
  return busy;
}

}  // namespace weft
