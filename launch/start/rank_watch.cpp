// launch/start/rank_watch.cpp: adds up for how long the ranks of this host have been gone or stopped.
#include "launch/start/rank_watch.h"

#include <fmt/format.h>

namespace weft {

std::string RankWatch::look(const ProcessCounts& ranks_of_this_host) {
  const auto [all, stopped] = ranks_of_this_host;
  seen_ = seen_ || all > 0;
  seconds_without_ranks_ = seen_ && all == 0 ? seconds_without_ranks_ + kPeriod : 0;
  seconds_stopped_ = all > 0 && stopped == all ? seconds_stopped_ + kPeriod : 0;
  if (seconds_without_ranks_ > kLongestEnd)
    return fmt::format(
        "the ranks of this host ended {:g} s ago, but mpirun still waits for another host: ending mpirun",
        seconds_without_ranks_);
  if (seconds_stopped_ > longest_stop_)
    return fmt::format(
        "all ranks of this host have been stopped (SIGSTOP) for more than {:g} s (parallel.timeout): "
        "ending them",
        longest_stop_);
  return "";
}

}  // namespace weft
