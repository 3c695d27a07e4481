// trainer/bench/all_reduce_rates.h: all-reduce bandwidth of the ranks.
#pragma once

#include <cstdint>
#include <vector>

#include "parallel/communicator.h"
#include "tensor/context.h"

namespace weft {

struct AllReduceRate {
  int64_t bytes = 0;   // of each rank's tensor, f32
  double seconds = 0;  // median
  double bytes_per_second() const { return static_cast<double>(bytes) / seconds; }
};

// Tensors of 4 KB to 64 MB on ctx's device; `group` has all ranks of the world. Empty for a single rank.
std::vector<AllReduceRate> measure_all_reduce(Communicator& world, Context& ctx, Communicator& group, double seconds);

}  // namespace weft
