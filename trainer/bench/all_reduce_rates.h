// trainer/bench/all_reduce_rates.h: measures the all-reduce bandwidth of the ranks.
#pragma once

#include <cstdint>
#include <vector>

#include "parallel/communicator.h"
#include "tensor/context.h"

namespace weft {

struct AllReduceRate {
  int64_t bytes = 0;   // size of each rank's f32 tensor
  double seconds = 0;  // median time of an all-reduce
  double bytes_per_second() const { return static_cast<double>(bytes) / seconds; }
};

// Times all-reduces of tensors from 4 KiB to 64 MiB on ctx's device. Returns an empty list if there is only one rank.
// REQUIRES: `group` contains all ranks of `world`.
std::vector<AllReduceRate> measure_all_reduce(Communicator& world, Context& ctx, Communicator& group, double seconds);

}  // namespace weft
