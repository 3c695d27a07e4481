// parallel/shard.cpp: computes buckets, and gathers the full buffer from the shards.
#include "parallel/shard.h"

#include <memory>

#include "tensor/error.h"
#include "tensor/transfer.h"

namespace weft {
namespace {

Tensor part(const Tensor& flat, const Chunk& chunk) { return flat.slice_rows(chunk.begin, chunk.count); }

}  // namespace

Shard::Shard(int64_t numel, int rank, int ranks, int64_t bucket) : numel_(numel), rank_(rank), ranks_(ranks) {
  const int64_t unit = ranks > 1 ? ranks * kAlignment : 1;
  require(numel % unit == 0 && bucket > 0, ErrorKind::internal, "a buffer must divide evenly into shards");
  const int64_t size = (bucket + unit - 1) / unit * unit;
  for (int64_t end = numel; end > 0; end -= std::min(size, end))
    buckets_.push_back({std::max<int64_t>(end - size, 0), std::min(size, end)});
  std::reverse(buckets_.begin(), buckets_.end());
}

Shard Shard::of_rank(int64_t numel, const Communicator& dp, bool zero) {
  const bool scatters = zero && dp.size() > 1;
  return {numel, scatters ? dp.rank() : 0, scatters ? dp.size() : 1, bucket_elements(dp.size(), scatters)};
}

void Shard::gather(Communicator& group, const Tensor& shard, const Tensor& whole) const {
  std::vector<std::unique_ptr<PendingWork>> pending;
  for (const Chunk& bucket : buckets_)
    pending.push_back(group.start_all_gather(shard.slice_rows(place(bucket), own(bucket).count), part(whole, bucket)));
  for (const auto& work : pending) work->wait();
}

void Shard::gather_in_place(Communicator& group, const Tensor& whole) const {
  std::vector<std::unique_ptr<PendingWork>> pending;
  for (const Chunk& bucket : buckets_)
    pending.push_back(group.start_all_gather(part(whole, own(bucket)), part(whole, bucket)));
  for (const auto& work : pending) work->wait();
}

void Shard::take(Context& ctx, const Tensor& whole, const Tensor& shard) const {
  for (const Chunk& bucket : buckets_)
    copy(ctx, part(whole, own(bucket)), shard.slice_rows(place(bucket), own(bucket).count));
}

void Shard::put(Context& ctx, const Tensor& shard, const Tensor& whole) const {
  for (const Chunk& bucket : buckets_)
    copy(ctx, shard.slice_rows(place(bucket), own(bucket).count), part(whole, own(bucket)));
}

}  // namespace weft
