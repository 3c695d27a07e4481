// trainer/bench/machine_load.h: whether other work took processor cores during a measurement.
#pragma once

#include <string>

#include "parallel/communicator.h"

namespace weft {

struct LoadReport {              // NaN: not known
  double before = 0, after = 0;  // average of runnable threads in the last minute
  double other_cores = 0;        // used by other processes on average, on rank 0's host
  double cores = 0;              // of this host
  double waiting = 0;            // share of time that rank 0's threads were ready to run and had no core
  bool too_busy() const;
  std::string warning() const;  // a sentence, or empty
};

class MachineLoad {  // reads the counters when constructed and in report()
 public:
  MachineLoad();
  LoadReport report(Communicator& world) const;  // all ranks call it

 private:
  struct Sample {
    double time = 0, load = 0;
    double busy = 0;     // core seconds of the whole host
    double own = 0;      // of this process
    double delayed = 0;  // thread seconds of this process, ready and without a core
  };
  static Sample sample();
  Sample begin_;
};

}  // namespace weft
