// parallel/grad_sync.cpp: buckets from the end of the flat gradients to the start, as backward fills them.
#include "parallel/grad_sync.h"

#include <cassert>
#include <utility>

namespace weft {

GradSync::GradSync(Communicator& dp, Tensor flat_grads, Shard shard, bool scatter)
    : dp_(dp), shard_(std::move(shard)), scatter_(scatter) {
  const int64_t num_matrices = shard_.numel() * shard_.ranks();
  matrices_ = flat_grads.slice_rows(0, num_matrices);
  vectors_ = flat_grads.slice_rows(num_matrices, flat_grads.numel() - num_matrices);
}

void GradSync::begin() {
  assert(pending_.empty());
  unsent_ = shard_.buckets().size();
}

void GradSync::ready(int64_t first) {
  assert(first >= 0 && first <= matrices_.numel());
  if (dp_.size() == 1) return;
  for (const auto& work : pending_) work->poll();  // lets the pending sums progress during the backward pass
  while (unsent_ > 0 && shard_.buckets()[unsent_ - 1].begin >= first) send_last();
}

void GradSync::wait() {
  if (dp_.size() == 1) return;
  if (vectors_.numel() > 0) pending_.push_back(dp_.start_all_reduce(vectors_));
  while (unsent_ > 0) send_last();
  for (const auto& work : pending_) work->wait();
  pending_.clear();
}

void GradSync::send_last() {
  const Chunk& bucket = shard_.buckets()[--unsent_];
  const Tensor grads = matrices_.slice_rows(bucket.begin, bucket.count);
  const Chunk own = shard_.own(bucket);
  pending_.push_back(scatter_ ? dp_.start_reduce_scatter(grads, matrices_.slice_rows(own.begin, own.count))
                              : dp_.start_all_reduce(grads));
}

}  // namespace weft
