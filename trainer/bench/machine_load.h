// trainer/bench/machine_load.h: detects whether other work used processor cores during a measurement.
#pragma once

#include <string>

#include "parallel/communicator.h"

namespace weft {

inline constexpr double kMaxOthers = 0.1;  // share of the cores, above which measured rates are too low

struct LoadReport {              // NaN means unknown
  double before = 0, after = 0;  // average number of runnable threads in the last minute
  double other_cores = 0;        // cores that other processes used on average, on rank 0's host
  double cores = 0;              // cores of this host
  double waiting = 0;            // share of the time in which rank 0's threads were ready to run but had no core
  bool too_busy() const;
  std::string warning() const;  // a sentence if too_busy(), otherwise empty
};

class MachineLoad {  // reads the system's counters in the constructor and in report()
 public:
  MachineLoad();
  LoadReport report(Communicator& world) const;  // all ranks call it

 private:
  struct Sample {
    double time = 0, load = 0;
    double busy = 0;     // core seconds of the whole host
    double own = 0;      // core seconds of this process
    double delayed = 0;  // seconds that its threads were ready but had no core, summed over threads
  };
  static Sample sample();
  Sample begin_;
};

}  // namespace weft
