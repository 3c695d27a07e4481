// parallel/grad_sync.h: sums gradients over the dp group in buckets, beside the backward pass that still runs.
//
// The backward pass finishes parameters in reverse order of declaration and says so with ready(first): all gradients
// at flat offset >= first are complete. Whole buckets then start their all-reduce; wait() starts what is left and
// finishes all. Only the last block of a step passes a GradSync, because only then gradients are complete.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "parallel/communicator.h"
#include "tensor/tensor.h"

namespace weft {

class GradSync {
 public:
  GradSync(Communicator& dp, Tensor flat_grads, int64_t bucket_elements = 4 << 20);
  void begin();               // before a step's last backward pass
  void ready(int64_t first);  // offsets only fall within a step
  void wait();

 private:
  void send(int64_t count);  // the last `count` gradients not yet sent

  Communicator& dp_;
  Tensor grads_;
  int64_t bucket_elements_;
  int64_t unsent_end_ = 0;  // gradients at and past it are on their way
  std::vector<std::unique_ptr<PendingWork>> pending_;
};

}  // namespace weft
