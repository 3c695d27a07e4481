// parallel/placement/other_programs.h: measures which share of the ranks' cores other programs use, because this
// explains slow steps. Reads Linux's /proc.
#pragma once

#include <string>
#include <vector>

#include "parallel/communicator.h"
#include "parallel/placement/cores.h"

namespace weft {

// Returns for how many clock ticks the cores were busy since the system started, from the text of /proc/stat; NaN if
// it lacks a core. Without `cores`, counts all cores of the machine.
double busy_ticks(const std::string& stat, const Cores& cores);
// Returns how many ticks a process has used on all cores, from the text of /proc/PID/stat; NaN if it is malformed.
double process_ticks(const std::string& stat);

struct CpuTimes {                           // in seconds
  double time = 0, busy = 0, by_ranks = 0;  // of a clock; of all cores together; of all ranks together
};
// Returns a share from 0 to 1, or 0 if it is not known.
double share_of_others(const CpuTimes& from, const CpuTimes& to, size_t num_cores);

// Only the main rank measures, on its host: the cores on which the host's ranks may run. The other ranks get 0.
class OtherPrograms {
 public:
  explicit OtherPrograms(Communicator& world);  // all ranks call it before they are bound to cores

  double share_at_start();  // waits until the time since the constructor is long enough for a measurement
  double share();           // since the last measurement, or that measurement's result if it was less than 1 s ago

 private:
  CpuTimes now() const;
  double measure(const CpuTimes& end);

  Cores cores_;                         // empty on other ranks, and if the ranks' times cannot be read
  std::vector<std::string> processes_;  // "/proc/PID/stat" of the host's ranks
  CpuTimes begin_;
  double share_ = 0;
};

// Returns for example "others use 60 % of the cores", or "" for a share that slows down steps only a little.
std::string describe_others(double share);

}  // namespace weft
