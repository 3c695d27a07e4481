// parallel/grad_sync.h: sums gradients over the dp group in buckets, overlapped with the backward pass.
//
// The backward pass completes the gradients of matrices in reverse order of declaration. It calls ready(first) when all
// matrices at flat offsets >= first have their gradients. ready() starts the sums of complete buckets. wait() starts
// the remaining sums, including the vectors', and finishes all sums. Only the backward pass of a step's last block uses
// a GradSync, because gradients are incomplete before.
//
// In bf16, gradients are added in f32 within each host, rounded, sent between hosts in bf16, and added in f32. So a
// host with k of N ranks sends 2 (N - k) / N bytes per gradient, half of what f32 needs. This takes two levels of
// communication, so it needs the same number of consecutive ranks on every host. In other groups, and within a single
// host, each rank rounds its own gradients.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "parallel/shard.h"
#include "tensor/memory.h"

namespace weft {

class GradSync {
 public:
  // `shard` divides the matrices, which come first in flat_grads; the vectors follow. If `shard` has one rank, the
  // matrices are all-reduced. Otherwise each rank gets only the sums of its own parts of the matrices, in place, and
  // the rest is undefined. `wire` is the type in which rounded gradients are sent; `ranks_per_host` is the result of
  // consecutive_ranks_per_host(). All ranks of `dp` construct it together.
  GradSync(Context& ctx, Communicator& dp, Tensor flat_grads, Shard shard, DType wire = DType::f32,
           int ranks_per_host = 0);
  // Records, in a dry run, the scratch memory that is needed if `wire` is bf16.
  static void measure(Context& dry, int64_t num_matrices, int ranks);
  void begin();               // called before a step's last backward pass
  void ready(int64_t first);  // REQUIRES: offsets only decrease within a step
  void wait();

 private:
  struct Sum {  // a sum in progress, of a bucket or of the vectors
    enum class Stage : uint8_t { whole, in_host, rounded };
    Stage stage = Stage::whole;
    std::vector<std::unique_ptr<PendingWork>> works;
    const Chunk* bucket = nullptr;  // null: the vectors
    void wait();
  };

  void send_last();  // sends the last bucket that has not been sent
  Sum sum_in_host(const Chunk& bucket);
  void round_and_send(Sum& sum);
  void send_host_sums();  // of the bucket that is being summed within the host, if there is one
  void add_received(const Chunk& bucket);
  bool scatters() const { return shard_.ranks() > 1; }
  int num_hosts() const { return shard_.ranks() / ranks_of_host_; }
  int64_t part(const Chunk& bucket) const { return bucket.count / shard_.ranks(); }  // elements that a rank owns
  Tensor of(const Chunk& chunk) const { return matrices_.slice_rows(chunk.begin, chunk.count); }
  Tensor host_sums(const Chunk& bucket) const;
  Tensor rounded(const Chunk& bucket) const;
  Tensor received(const Chunk& bucket) const;

  Context& ctx_;
  Communicator& dp_;
  Tensor matrices_, vectors_;
  Shard shard_;
  DType wire_;
  int ranks_of_host_ = 1;                           // 1: one level, in which each rank counts as a host
  std::unique_ptr<Communicator> in_host_, across_;  // null in one level; across_: ranks with this place in their hosts
  Buffer rounded_;                                  // [matrices / ranks_of_host_] in `wire`, if it is not f32
  size_t unsent_ = 0;                               // this bucket and all later ones have been sent
  std::vector<Sum> pending_;
};

// Returns the number of ranks of each host, or 0 if hosts differ in it or a host's ranks are not consecutive in the
// group. All ranks of the group call it.
int consecutive_ranks_per_host(Communicator& group);

}  // namespace weft
