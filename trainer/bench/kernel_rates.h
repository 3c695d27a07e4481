// trainer/bench/kernel_rates.h: each op of a block's training by itself, beside copies of as many bytes.
#pragma once

#include <string>
#include <vector>

#include "parallel/communicator.h"
#include "parallel/rank_device.h"
#include "tensor/op_trace.h"
#include "trainer/run_config.h"

namespace weft {

struct CopyRate {
  double bytes = 0;  // read and written together, as those of an op are counted
  double bytes_per_second = 0;
};

// Copies within the device's memory, from small ones to some that no cache holds, each the best of many.
std::vector<CopyRate> measure_copies(Context& ctx, double seconds);

// Of a copy that moves so many: the better of the two nearest sizes.
double copy_rate(const std::vector<CopyRate>& copies, double bytes);

struct KernelRate {
  std::string op;
  int64_t calls = 0;            // of this kind in a step of one block
  OpCost cost;                  // of a call
  double best = 0, median = 0;  // seconds of a call
};

// Every op but products (gemm_rates.h) of a real Trainer's step on one block, the same shapes and costs being of one
// kind. A kind runs again and again with the arguments of its first call, where they lie: rates are those of operands
// that a cache may hold. A rank measures its own while the others do.
std::vector<KernelRate> measure_kernels(const RunConfig& config, Communicator& world, double seconds,
                                        const RankDevice& own = {});

}  // namespace weft
