// parallel/grad_sync.cpp: buckets from the end of the flat gradients to the start, as backward fills them.
#include "parallel/grad_sync.h"

#include <algorithm>
#include <cassert>

namespace weft {

GradSync::GradSync(Communicator& dp, Tensor flat_grads, int64_t bucket_elements)
    : dp_(dp), grads_(flat_grads), bucket_elements_(bucket_elements) {
  assert(bucket_elements > 0);
}

void GradSync::begin() {
  assert(pending_.empty());
  unsent_end_ = grads_.numel();
}

void GradSync::ready(int64_t first) {
  assert(first >= 0 && first <= grads_.numel());
  if (dp_.size() == 1) return;
  for (const auto& work : pending_) work->poll();  // lets the pending all-reduces progress during the backward pass
  while (unsent_end_ - first >= bucket_elements_) send(bucket_elements_);
}

void GradSync::wait() {
  if (dp_.size() == 1) return;
  while (unsent_end_ > 0) send(std::min(bucket_elements_, unsent_end_));
  for (const auto& work : pending_) work->wait();
  pending_.clear();
}

void GradSync::send(int64_t count) {
  unsent_end_ -= count;
  pending_.push_back(dp_.start_all_reduce(grads_.slice_rows(unsent_end_, count)));
}

}  // namespace weft
