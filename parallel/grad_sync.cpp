// parallel/grad_sync.cpp: sends buckets from the end of the flat gradients to the start, as backward fills them.
#include "parallel/grad_sync.h"

#include <cassert>
#include <utility>

#include "tensor/error.h"
#include "tensor/ops.h"
#include "tensor/transfer.h"

namespace weft {

GradSync::GradSync(Context& ctx, Communicator& dp, Tensor flat_grads, Shard shard, DType wire)
    : ctx_(ctx), dp_(dp), shard_(std::move(shard)), wire_(wire) {
  require(wire == DType::f32 || scatters(), ErrorKind::internal, "rounded gradients must be scattered to their owners");
  const int64_t num_matrices = shard_.numel() * shard_.ranks();
  matrices_ = flat_grads.slice_rows(0, num_matrices);
  vectors_ = flat_grads.slice_rows(num_matrices, flat_grads.numel() - num_matrices);
  if (wire != DType::f32) rounded_ = Buffer(static_cast<size_t>(num_matrices) * size_of(wire), flat_grads.device);
}

void GradSync::measure(Context& dry, int64_t num_matrices, int ranks) {
  const int64_t most = std::min(num_matrices, bucket_elements(ranks, /*scatters=*/true)),
                own = most / ranks + Shard::kAlignment;
  ops::column_sum(dry, {.x = Tensor(nullptr, {ranks, own}, DType::bf16, dry.device()),
                        .y = Tensor(nullptr, {own}, DType::f32, dry.device())});
}

void GradSync::begin() {
  assert(pending_.empty());
  unsent_ = shard_.buckets().size();
}

void GradSync::ready(int64_t first) {
  assert(first >= 0 && first <= matrices_.numel());
  if (dp_.size() == 1) return;
  for (const Sum& sum : pending_) sum.work->poll();  // lets the pending sums progress during the backward pass
  while (unsent_ > 0 && shard_.buckets()[unsent_ - 1].begin >= first) send_last();
}

void GradSync::wait() {
  if (dp_.size() == 1) return;
  if (vectors_.numel() > 0) pending_.push_back({dp_.start_all_reduce(vectors_)});
  while (unsent_ > 0) send_last();
  for (const Sum& sum : pending_) {
    sum.work->wait();
    if (sum.received != nullptr) add_received(*sum.received);
  }
  pending_.clear();
}

void GradSync::send_last() {
  const Chunk& bucket = shard_.buckets()[--unsent_];
  if (wire_ != DType::f32) {
    pending_.push_back({send_rounded(bucket), &bucket});
  } else if (scatters()) {
    pending_.push_back({dp_.start_reduce_scatter(of(bucket), of(shard_.own(bucket)))});
  } else {
    pending_.push_back({dp_.start_all_reduce(of(bucket))});
  }
}

// Returns where the rounded parts arrive: the first half of the bucket's f32 memory, which is free after rounding.
Tensor GradSync::received(const Chunk& bucket) const {
  return {of(bucket).data, {shard_.ranks(), bucket.count / shard_.ranks()}, wire_, matrices_.device};
}

std::unique_ptr<PendingWork> GradSync::send_rounded(const Chunk& bucket) {
  const auto at = static_cast<size_t>(bucket.begin) * size_of(wire_);
  const Tensor rounded = rounded_.tensor({bucket.count}, wire_, at);
  ops::cast(ctx_, {.x = of(bucket), .y = rounded});
  const Tensor to = received(bucket);
  return dp_.start_all_to_all(rounded.with_shape(to.shape), to);
}

// The sum overwrites the rounded values that were sent, because the received parts are still needed.
void GradSync::add_received(const Chunk& bucket) {
  const Chunk own = shard_.own(bucket);
  const Tensor sum = rounded_.tensor({own.count}, DType::f32, static_cast<size_t>(bucket.begin) * size_of(wire_));
  ops::fill(ctx_, {.x = sum});
  ops::column_sum(ctx_, {.x = received(bucket), .y = sum});
  copy(ctx_, sum, of(own));
}

}  // namespace weft
