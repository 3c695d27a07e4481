// launch/start/rank_watch.h: notices that mpirun can no longer end a run, or that nobody can, and that it must be
// killed.
//
// If a host loses power, mpirun tells it to end its ranks, and then waits a quarter of an hour for TCP to give up. If
// all ranks of a host are stopped, their watchdogs (parallel/mpi/watchdog.h) are stopped, too. Validations, saves and
// slow starts look different: they keep processes that are not stopped.
#pragma once

#include <string>

#include "launch/start/session.h"

namespace weft {

class RankWatch {
 public:
  static constexpr double kPeriod = 2;       // seconds between two looks
  static constexpr double kLongestEnd = 10;  // seconds that mpirun gets to end after the last rank of this host

  explicit RankWatch(double longest_stop = 600) : longest_stop_(longest_stop) {}

  // Call it every kPeriod seconds. Returns why mpirun must be killed, or "". Counts calls instead of reading a clock,
  // because clocks advance while this process is stopped together with the ranks.
  std::string look(const ProcessCounts& ranks_of_this_host);

 private:
  double longest_stop_;  // seconds
  bool seen_ = false;    // ranks of this host have run
  double seconds_without_ranks_ = 0, seconds_stopped_ = 0;
};

}  // namespace weft
