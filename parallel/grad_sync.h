// parallel/grad_sync.h: all-reduces gradients over the dp group in buckets, overlapped with the backward
// pass.
//
// The backward pass finishes parameters in reverse order of declaration. It calls ready(first) when all
// gradients at flat offset >= first are complete, and whole buckets then start their all-reduce. wait()
// starts the rest and finishes all. Only the last block of a step passes a GradSync, because gradients are
// complete only then.
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
  int64_t unsent_end_ = 0;  // gradients from here on have been sent
  std::vector<std::unique_ptr<PendingWork>> pending_;
};

}  // namespace weft
