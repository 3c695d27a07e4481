// trainer/step/repeat.h: times repeated runs of the same work on all ranks.
#pragma once

#include <algorithm>
#include <vector>

#include "parallel/communicator.h"
#include "tensor/clock.h"
#include "tensor/context.h"

namespace weft {

struct Times {
  std::vector<double> seconds;  // in ascending order
  double best() const { return seconds.front(); }
  double median() const { return seconds[seconds.size() / 2]; }
};

// All ranks call `run` together, at least once and until `seconds` have passed on all ranks.
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

// Returns the times of one run, as means over batches that end with a device synchronization. A batch is long enough
// for the clock and to fill a GPU's queue. REQUIRES: `run` does the same work each time and waits for no other rank.
template <typename Run>
Times repeat_in_batches(Communicator& world, Context& ctx, double seconds, const Run& run) {
  constexpr double kBatch = 0.001;  // in seconds
  constexpr int kMax = 100;
  const auto batch_of = [&](int count) {
    for (int i = 0; i < count; ++i) run();
    ctx.synchronize();
  };
  batch_of(1);  // warm-up: allocates plans and scratch memory
  const double one = repeat(world, 0, [&] { batch_of(1); }).best();
  const int count = static_cast<int>(std::clamp(kBatch / one, 1.0, static_cast<double>(kMax)));
  Times times = repeat(world, seconds, [&] { batch_of(count); });
  for (double& batch : times.seconds) batch /= count;
  return times;
}

}  // namespace weft
