// trainer/bench/repeat.h: the same thing again and again on all ranks, each time by the clock.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "parallel/communicator.h"
#include "tensor/op_trace.h"

namespace weft {

struct Times {
  std::vector<double> seconds;  // ascending
  double best() const { return seconds.front(); }
  double median() const { return seconds[seconds.size() / 2]; }
};

// All ranks run it equally often, and begin together: at least once, then until `seconds` have passed on all of them.
template <typename Run>
Times repeat(Communicator& world, double seconds, Run&& run) {
  Times times;
  const double begin = monotonic_seconds();
  bool more = true;
  while (more) {
    world.barrier();
    const double start = monotonic_seconds();
    run();
    const double end = monotonic_seconds();
    times.seconds.push_back(end - start);
    more = world.max(end - begin < seconds ? 1 : 0) == 1;
  }
  std::sort(times.seconds.begin(), times.seconds.end());
  return times;
}

}  // namespace weft
