// trainer/bench/kernel_rates.h: times each op of a training step, and copies of equal size for comparison.
#pragma once

#include <string>
#include <vector>

#include "parallel/communicator.h"
#include "parallel/placement/rank_device.h"
#include "tensor/op/op_trace.h"
#include "trainer/config/run_config.h"

namespace weft {

struct CopyRate {
  double bytes = 0;  // read plus written, counted as in OpCost
  double bytes_per_second = 0;
};

// Times copies within the device's memory, up to sizes that exceed every cache. Each rate is the best of many runs.
std::vector<CopyRate> measure_copies(Context& ctx, double seconds);

// Returns the rate of a copy of `bytes`: the higher of the rates at the next smaller and the next larger measured size.
double copy_rate(const std::vector<CopyRate>& copies, double bytes);

struct KernelRate {
  std::string op;
  int64_t calls = 0;            // number of calls of this kind in a step on one block
  OpCost cost;                  // per call
  double best = 0, median = 0;  // seconds per call
};

// Measures every op except GEMMs (gemm_rates.h) in a real Trainer's step on one block. Calls of an op with equal costs
// count as one kind. Each kind is repeated with the arguments of its first call, so the operands may be in a cache. All
// ranks measure at the same time.
std::vector<KernelRate> measure_kernels(const RunConfig& config, Communicator& world, double seconds,
                                        const RankDevice& own = {});

}  // namespace weft
