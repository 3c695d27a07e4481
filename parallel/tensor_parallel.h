// parallel/tensor_parallel.h: the places where tensor parallelism communicates (Shoeybi et al. 2019, section 3).
//
// A column-parallel layer takes a whole input: forward identity, backward sum of the input's gradient.
// A row-parallel layer gives a partial output: forward sum, backward identity.
// On a group of one the sums return at once and the gathers copy. On a dry run nothing is sent.
#pragma once

#include <cstdint>

#include "parallel/communicator.h"
#include "tensor/context.h"

namespace weft {

struct VocabularyRange {  // what a rank holds of a vocabulary of `size` entries: ceil(size / tp) columns, the last ones
                          // padding
  int64_t first = 0;      // global id of its first column; `size` for a rank that holds padding alone
  int64_t columns = 0;    // local columns, padding included
  int64_t valid = 0;      // of these, real ones
  static VocabularyRange of(int64_t size, int rank, int ranks);
};

class TensorParallel {
 public:
  explicit TensorParallel(Communicator& group) : group_(group) {}
  int rank() const { return group_.rank(); }
  int size() const { return group_.size(); }

  void all_reduce(Context& ctx, const Tensor& x) const;                          // [R, D] f32 partial sums -> sum
  void gather_stats(Context& ctx, const Tensor& mine, const Tensor& all) const;  // [R, 4] -> [tp, R, 4]
  void gather(Context& ctx, const Tensor& mine, const Tensor& all) const;        // [...] -> [tp, ...]

 private:
  Communicator& group_;
};

}  // namespace weft
