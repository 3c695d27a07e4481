// parallel/tensor_parallel.h: communicates for tensor-parallel layers (Shoeybi et al. 2019, section 3).
//
// A column-parallel layer takes a replicated input, and all-reduces the input's gradient in the backward pass. A
// row-parallel layer yields partial sums, and all-reduces them in the forward pass. In a group of one, all-reduces do
// nothing and gathers copy. A dry run does not communicate, but its trace records the collectives
// (parallel/planned_group.h).
//
// With sequence parallelism (Korthikanti et al. 2022, section 4.2.2) activations between these layers are split by
// rows. A column-parallel layer then all-gathers its input and reduce-scatters the input's gradient; a row-parallel
// layer reduce-scatters its output and all-gathers the output's gradient.
#pragma once

#include <cstdint>

#include "parallel/communicator.h"
#include "tensor/context.h"

namespace weft {

// Describes a rank's part of a vocabulary of `size` entries: ceil(size / tp) columns, the last of which may be padding.
struct VocabularyRange {
  int64_t first = 0;    // global id of its first column; `size` if all its columns are padding
  int64_t columns = 0;  // local columns, padding included
  int64_t valid = 0;    // real entries among them
  static VocabularyRange of(int64_t size, int rank, int ranks);
};

class TensorParallel {
 public:
  explicit TensorParallel(Communicator& group) : group_(group) {}
  int rank() const { return group_.rank(); }
  int size() const { return group_.size(); }

  void all_reduce(Context& ctx, const Tensor& x) const;                          // [R, D] partial sums -> sum
  void reduce_scatter(Context& ctx, const Tensor& x, const Tensor& mine) const;  // [R, D] -> this rank's [R/tp, D]
  void gather_stats(Context& ctx, const Tensor& mine, const Tensor& all) const;  // [R, n] -> [tp, R, n]
  void gather(Context& ctx, const Tensor& mine, const Tensor& all) const;        // [...] -> [tp, ...]

 private:
  Communicator& group_;
};

}  // namespace weft
