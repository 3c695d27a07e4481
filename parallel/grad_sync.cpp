// parallel/grad_sync.cpp: sends buckets from the end of the flat gradients to the start, as backward fills them.
#include "parallel/grad_sync.h"

#include <cassert>
#include <utility>

#include "tensor/error.h"
#include "tensor/ops.h"
#include "tensor/transfer.h"

namespace weft {

GradSync::GradSync(Context& ctx, Communicator& dp, Tensor flat_grads, Shard shard, DType wire, int ranks_per_host)
    : ctx_(ctx), dp_(dp), shard_(std::move(shard)), wire_(wire) {
  require(wire == DType::f32 || scatters(), ErrorKind::internal, "rounded gradients must be scattered to their owners");
  const int64_t num_matrices = shard_.numel() * shard_.ranks();
  matrices_ = flat_grads.slice_rows(0, num_matrices);
  vectors_ = flat_grads.slice_rows(num_matrices, flat_grads.numel() - num_matrices);
  if (wire == DType::f32) return;
  if (ranks_per_host > 1 && ranks_per_host < dp.size()) {
    ranks_of_host_ = ranks_per_host;
    in_host_ = dp.split(dp.rank() / ranks_of_host_, dp.rank());
    across_ = dp.split(dp.rank() % ranks_of_host_, dp.rank());
  }
  rounded_ = Buffer(static_cast<size_t>(num_matrices / ranks_of_host_) * size_of(wire), flat_grads.device);
}

void GradSync::measure(Context& dry, int64_t num_matrices, int ranks) {
  const int64_t most = std::min(num_matrices, bucket_elements(ranks, /*scatters=*/true)),
                own = most / ranks + Shard::kAlignment;
  ops::column_sum(dry, {.x = Tensor(nullptr, {ranks, own}, DType::bf16, dry.device()),
                        .y = Tensor(nullptr, {own}, DType::f32, dry.device())});
}

void GradSync::Sum::wait() {
  for (const auto& work : works) work->wait();
  works.clear();
}

void GradSync::begin() {
  pending_.clear();  // a recording that was refused leaves its own
  unsent_ = shard_.buckets().size();
}

void GradSync::ready(int64_t first) {
  assert(first >= 0 && first <= matrices_.numel());
  if (dp_.size() == 1) return;
  for (const Sum& sum : pending_)  // lets the pending sums progress during the backward pass
    for (const auto& work : sum.works) work->poll();
  while (unsent_ > 0 && shard_.buckets()[unsent_ - 1].begin >= first) send_last();
}

void GradSync::wait() {
  if (dp_.size() == 1) return;
  if (vectors_.numel() > 0) {
    pending_.emplace_back();
    pending_.back().works.push_back(dp_.start_all_reduce(vectors_));
  }
  while (unsent_ > 0) send_last();
  send_host_sums();
  for (Sum& sum : pending_) {
    sum.wait();
    if (sum.stage == Sum::Stage::rounded) add_received(*sum.bucket);
  }
  pending_.clear();
}

// A bucket's host sums are sent when the next bucket is ready, because by then they are usually finished, and neither
// the backward pass nor a GPU's stream waits for them.
void GradSync::send_last() {
  const Chunk& bucket = shard_.buckets()[--unsent_];
  send_host_sums();
  Sum sum{.bucket = &bucket};
  if (in_host_) {
    sum = sum_in_host(bucket);
  } else if (wire_ != DType::f32) {
    round_and_send(sum);
  } else if (scatters()) {
    sum.works.push_back(dp_.start_reduce_scatter(of(bucket), of(shard_.own(bucket))));
  } else {
    sum.works.push_back(dp_.start_all_reduce(of(bucket)));
  }
  pending_.push_back(std::move(sum));
}

// The parts of each host's ranks are adjacent, so this rank sums its part for each host in a reduce-scatter of its own.
GradSync::Sum GradSync::sum_in_host(const Chunk& bucket) {
  Sum sum{.stage = Sum::Stage::in_host, .bucket = &bucket};
  const int64_t n = part(bucket), of_host = n * ranks_of_host_;
  for (int host = 0; host < num_hosts(); ++host) {
    const Tensor parts = of(bucket).slice_rows(host * of_host, of_host);
    sum.works.push_back(in_host_->start_reduce_scatter(parts, parts.slice_rows(in_host_->rank() * n, n)));
  }
  return sum;
}

void GradSync::send_host_sums() {
  for (Sum& sum : pending_)
    if (sum.stage == Sum::Stage::in_host) {
      sum.wait();
      round_and_send(sum);
    }
}

void GradSync::round_and_send(Sum& sum) {
  ops::cast(ctx_, {.x = host_sums(*sum.bucket), .y = rounded(*sum.bucket)});
  Communicator& group = across_ ? *across_ : dp_;
  sum.works.push_back(group.start_all_to_all(rounded(*sum.bucket), received(*sum.bucket)));
  sum.stage = Sum::Stage::rounded;
}

// Returns [hosts, part]: for each host, the part of its rank with this rank's place.
Tensor GradSync::host_sums(const Chunk& bucket) const {
  const int64_t n = part(bucket), place = in_host_ ? in_host_->rank() : 0;
  Tensor sums(of(bucket).slice_rows(place * n, n).data, {num_hosts(), n}, DType::f32, matrices_.device);
  sums.row_stride = ranks_of_host_ * n;
  return sums;
}

Tensor GradSync::rounded(const Chunk& bucket) const {
  const auto at = static_cast<size_t>(bucket.begin / ranks_of_host_) * size_of(wire_);
  return rounded_.tensor({num_hosts(), part(bucket)}, wire_, at);
}

// Returns where the rounded parts arrive: the start of the bucket's f32 memory, which is free after rounding.
Tensor GradSync::received(const Chunk& bucket) const {
  return {of(bucket).data, {num_hosts(), part(bucket)}, wire_, matrices_.device};
}

// The sum overwrites the rounded values that were sent, because the received parts are still needed.
void GradSync::add_received(const Chunk& bucket) {
  const Chunk own = shard_.own(bucket);
  const Tensor sum(rounded(bucket).data, {own.count}, DType::f32, matrices_.device);
  ops::fill(ctx_, {.x = sum});
  ops::column_sum(ctx_, {.x = received(bucket), .y = sum});
  copy(ctx_, sum, of(own));
}

int consecutive_ranks_per_host(Communicator& group) {
  const auto host = group.split_by_host();
  const int64_t first = -host->max(-group.rank()), last = host->max(group.rank());
  const int64_t ranks = last - first == host->size() - 1 ? host->size() : 0;
  const int64_t most = group.max(ranks), least = -group.max(-ranks);
  return most == least ? static_cast<int>(most) : 0;
}

}  // namespace weft
