// trainer/bench/all_reduce_rates.h: measures the all-reduce bandwidth of the ranks.
#pragma once

#include <cstdint>
#include <vector>

#include "parallel/communicator.h"
#include "tensor/context.h"

namespace weft {

struct AllReduceRate {
  int64_t bytes = 0;   // bytes of each rank's tensor, f32
  double seconds = 0;  // median
  double bytes_per_second() const { return static_cast<double>(bytes) / seconds; }
};

// Measures tensors of 4 KB to 64 MB on ctx's device. A single rank gets an empty list. REQUIRES: `group` has all ranks.
std::vector<AllReduceRate> measure_all_reduce(Communicator& world, Context& ctx, Communicator& group, double seconds);

}  // namespace weft
