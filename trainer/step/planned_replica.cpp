// trainer/step/planned_replica.cpp: plans the memory that a Trainer allocates.
#include "trainer/step/planned_replica.h"

#include <algorithm>

#include "trainer/precision.h"

namespace weft {
namespace {

int dp_of(const RunConfig& c) { return static_cast<int>(std::max<int64_t>(c.parallel.dp, 1)); }

Optimizer planned_optimizer(ParamStore& params, const RunConfig& c, Communicator& tp, Communicator& dp) {
  const bool zero = c.parallel.zero > 0;
  params.plan(zero ? dp_of(c) : 1);
  return {params, c.optimizer, Shard::of_rank(params.matrix_numel(), dp, zero), c.train.ema, {.tp = &tp, .dp = &dp}};
}

}  // namespace

PlannedReplica::PlannedReplica(const RunConfig& c, const TensorParallel& tp, Device device, OpTrace* trace)
    : dp(make_planned_group(dp_of(c), trace)),
      tp_group(make_planned_group(tp.size(), trace, kTpAllReduce)),
      params(tp.rank(), tp.size(), storage_of(c.train.precision), device, ParamUse::planning, frozen_names(c)),
      model(c.model, params, c.batch.longest_row()),
      optimizer(planned_optimizer(params, c, *tp_group, *dp)) {}

}  // namespace weft
