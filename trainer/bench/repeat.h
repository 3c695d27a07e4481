// trainer/bench/repeat.h: the same thing again and again on all ranks, each time by the clock.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "parallel/communicator.h"
#include "tensor/context.h"
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

// Seconds of one run, of batches that a device is waited for as a whole: long enough for the clock, and for a GPU's
// queue to be full. `run` asks for the same each time; no rank's waits for another's.
template <typename Run>
Times repeat_in_batches(Communicator& world, Context& ctx, double seconds, const Run& run) {
  constexpr double kBatch = 0.001;  // seconds
  constexpr int kMost = 100;
  const auto batch_of = [&](int count) {
    for (int i = 0; i < count; ++i) run();
    ctx.synchronize();
  };
  batch_of(1);  // what is made once: plans, scratch memory
  const double one = repeat(world, 0, [&] { batch_of(1); }).best();
  const int count = static_cast<int>(std::clamp(kBatch / one, 1.0, static_cast<double>(kMost)));
  Times times = repeat(world, seconds, [&] { batch_of(count); });
  for (double& batch : times.seconds) batch /= count;
  return times;
}

}  // namespace weft
