// model/parameters/param_gather.h: gathers the updated weights of all shards (parallel/shard.h) in a forward pass.
//
// After an update, each rank holds new weights only in its own shard. The next forward pass calls need(end) before it
// reads matrices at flat offsets < end. Buckets arrive in the order in which the forward pass reads them.
#pragma once

#include <memory>
#include <vector>

#include "model/parameters/param_store.h"
#include "parallel/shard.h"

namespace weft {

class ParamGather {
 public:
  ParamGather(Communicator& dp, const ParamStore& params, Shard shard);

  void begin();                             // starts all gathers; requires that all ranks of dp call it together
  void need(Context& ctx, int64_t offset);  // waits for matrices before `offset`, and updates their packed copies
  void finish(Context& ctx) { need(ctx, weights_.numel()); }

 private:
  Communicator& dp_;
  const ParamStore& params_;
  Shard shard_;
  Tensor weights_;  // the weights that layers read: the rounded matrices or, in f32, the values
  std::vector<std::unique_ptr<PendingWork>> pending_;  // gathers of the buckets not yet arrived, the last one first
  size_t refreshed_ = 0;                               // parameters whose packed copies are up to date
};

}  // namespace weft
