// parallel/shard.h: divides a flat buffer into buckets, and each bucket among the ranks of a dp group.
//
// Gradients are summed bucket by bucket during the backward pass. With ZeRO stage 1 (Rajbhandari et al. 2020, section
// 5.1) rank r owns the r-th equal part of each bucket. The rank receives sums, keeps the optimizer state and updates
// weights only for its own parts. A rank's shard is the concatenation of its own parts, with 1 / ranks of all elements.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "parallel/collective.h"
#include "tensor/context.h"

namespace weft {

// The latency of a bucket's sum grows with the number of ranks, and should be small compared with its transfer time.
// For few ranks, buckets of 16 MiB are enough, and larger ones would overlap less with the backward pass.
// Reduce-scatters use rings, so their buckets contain at least 1 MiB per rank. All-reduces over many ranks use trees,
// for which 256 MiB is always enough. The sizes follow the predictions of `weft plan` (docs/hardware/plan.md).
constexpr int64_t bucket_elements(int ranks, bool scatters) {
  const int64_t wanted = std::max<int64_t>(4 << 20, int64_t{ranks} << 18);
  return scatters ? wanted : std::min<int64_t>(wanted, 64 << 20);
}

class Shard {
 public:
  static constexpr int64_t kAlignment = 16;  // elements: own parts start on cache lines

  // Divides a buffer of `numel` elements. REQUIRES: with several ranks, `numel` is a multiple of ranks * kAlignment.
  // Buckets contain at most `bucket` elements, rounded up to such a multiple; the first bucket gets the remainder.
  Shard(int64_t numel, int rank, int ranks, int64_t bucket);
  // Returns this rank's shard if `zero` is set, otherwise a shard with the whole buffer, whose buckets are all-reduced.
  static Shard of_rank(int64_t numel, const Communicator& dp, bool zero);

  const std::vector<Chunk>& buckets() const { return buckets_; }  // in the order of their elements
  Chunk own(const Chunk& bucket) const {
    return {bucket.begin + rank_ * (bucket.count / ranks_), bucket.count / ranks_};
  }
  int64_t place(const Chunk& bucket) const { return bucket.begin / ranks_; }  // start of the own part in the shard
  int64_t numel() const { return numel_ / ranks_; }                           // elements of the shard
  int ranks() const { return ranks_; }
  bool is_first() const { return rank_ == 0; }

  // Gathers all shards: whole [numel], shard [numel()]. REQUIRES: all ranks of `group` call it, in the order of shards.
  void gather(Communicator& group, const Tensor& shard, const Tensor& whole) const;
  void gather_in_place(Communicator& group, const Tensor& whole) const;     // gathers from the own parts in `whole`
  void take(Context& ctx, const Tensor& whole, const Tensor& shard) const;  // copies the own parts
  void put(Context& ctx, const Tensor& shard, const Tensor& whole) const;   // copies them back to their places

 private:
  int64_t numel_ = 0;
  int rank_ = 0, ranks_ = 1;
  std::vector<Chunk> buckets_;
};

}  // namespace weft
