// parallel/grad_sync.h: sums gradients over the dp group in buckets, overlapped with the backward pass.
//
// The backward pass completes the gradients of matrices in reverse order of declaration. It calls ready(first) when all
// matrices at flat offsets >= first have their gradients. ready() starts the sums of complete buckets. wait() starts
// the remaining sums, including the vectors', and finishes all sums. Only the backward pass of a step's last block uses
// a GradSync, because gradients are incomplete before.
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
  // the rest is undefined. If `wire` is bf16, gradients are sent in bf16 and added in f32.
  GradSync(Context& ctx, Communicator& dp, Tensor flat_grads, Shard shard, DType wire = DType::f32);
  // Records, in a dry run, the scratch memory that is needed if `wire` is bf16.
  static void measure(Context& dry, int64_t num_matrices, int ranks);
  void begin();               // called before a step's last backward pass
  void ready(int64_t first);  // REQUIRES: offsets only decrease within a step
  void wait();

 private:
  struct Sum {  // a sum in progress, of a bucket or of the vectors
    std::unique_ptr<PendingWork> work;
    const Chunk* received = nullptr;  // bucket whose rounded parts wait() must add, or null
  };

  void send_last();  // sends the last bucket that has not been sent
  std::unique_ptr<PendingWork> send_rounded(const Chunk& bucket);
  void add_received(const Chunk& bucket);
  bool scatters() const { return shard_.ranks() > 1; }
  Tensor of(const Chunk& chunk) const { return matrices_.slice_rows(chunk.begin, chunk.count); }
  Tensor received(const Chunk& bucket) const;

  Context& ctx_;
  Communicator& dp_;
  Tensor matrices_, vectors_;
  Shard shard_;
  DType wire_;
  Buffer rounded_;     // [matrices] in `wire`, if it is not f32
  size_t unsent_ = 0;  // this bucket and all later ones have been sent
  std::vector<Sum> pending_;
};

}  // namespace weft
