// parallel/grad_sync.h: all-reduces gradients over the dp group in buckets, overlapped with the backward
// pass.
//
// The backward pass finishes parameters in reverse order of declaration. It calls ready(first) when all
// gradients at flat offset >= first are complete, and whole buckets then start their all-reduce. wait()
// starts the rest and finishes all. Only the last block of a step passes a GradSync, because gradients are
// complete only then.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "parallel/communicator.h"
#include "tensor/tensor.h"

namespace weft {

// A bucket is divided among the ranks, and a message of less than some 256 KiB costs its latency rather than its bytes:
// buckets grow with the number of ranks. With few ranks 16 MiB are enough, and more would leave less to overlap with
// the backward pass.
constexpr int64_t bucket_elements(int ranks) { return std::max<int64_t>(4 << 20, int64_t{ranks} << 16); }

class GradSync {
 public:
  GradSync(Communicator& dp, Tensor flat_grads) : GradSync(dp, flat_grads, bucket_elements(dp.size())) {}
  GradSync(Communicator& dp, Tensor flat_grads, int64_t bucket_elements);
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
