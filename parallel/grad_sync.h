// parallel/grad_sync.h: sums gradients over the dp group in buckets, overlapped with the backward pass.
//
// The backward pass finishes matrices in reverse order of declaration. It calls ready(first) when all of their
// gradients at flat offset >= first are complete, and whole buckets then start their sum. wait() starts the rest, with
// the vectors, and finishes all. Only the last block of a step passes a GradSync, because gradients are complete only
// then.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "parallel/shard.h"

namespace weft {

class GradSync {
 public:
  // `shard` divides the first elements of flat_grads, the matrices; behind them are the vectors. They are all-reduced;
  // with `scatter`, of the matrices each rank gets the sums of its own parts alone, in their places.
  GradSync(Communicator& dp, Tensor flat_grads, Shard shard, bool scatter = false);
  void begin();               // before a step's last backward pass
  void ready(int64_t first);  // offsets only fall within a step
  void wait();

 private:
  void send_last();  // bucket not yet sent

  Communicator& dp_;
  Tensor matrices_, vectors_;
  Shard shard_;
  bool scatter_;
  size_t unsent_ = 0;  // buckets from here on have been sent
  std::vector<std::unique_ptr<PendingWork>> pending_;
};

}  // namespace weft
