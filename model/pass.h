// model/pass.h: defines what a forward or backward pass needs in addition to its inputs.
#pragma once

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <vector>

#include "parallel/tensor_parallel.h"
#include "tensor/context.h"
#include "tensor/memory.h"
#include "tensor/ops.h"
#include "tensor/random.h"
#include "tensor/transfer.h"

namespace weft {

using ops::SequenceRanges;

struct Sequences {                    // one side of a block: R rows, B sentences laid end to end
  Tensor ids;                         // [R] i32
  Tensor positions;                   // [R] i32, position of each row within its sentence
  SequenceRanges rows;                // [B] each: the rows of each sentence
  ops::SortedIds by_id, by_position;  // for the gradients of look-ups; -1 in unused rows
};

class ParamGather;

struct Pass {
  Context& ctx;
  Arena& arena;
  const TensorParallel& tp;
  uint64_t seed = 0;
  const StepScalars* scalars = nullptr;  // on ctx's device; training reads step, block and loss scale there
  bool training = false;                 // true if dropout applies
  double cut = 0;                        // rate of tokens whose embedding is 0 in training (model/consistency.h)
  // If true, each block keeps only its input, and its backward pass first repeats the forward pass (Chen et al. 2016).
  bool recompute = false;
  // True if the work will be recorded and replayed (tensor/recorded_work.h). Then no shape may depend on the sentences
  // of a batch, so every batch contains the max number of sentences, of which the last are empty.
  bool fixed_shapes = false;
  ParamGather* gather = nullptr;  // if not null, gathers weights during this forward pass
  // Sequence parallelism (Korthikanti et al. 2022, section 4.2.2): between tensor-parallel layers, rank r holds rows
  // [r * R/tp, (r + 1) * R/tp) of each [R, D] tensor; tp divides R.
  bool sequence = false;

  bool splits_rows() const { return sequence && tp.size() > 1; }
  int64_t own_rows(int64_t all) const {
    assert(!splits_rows() || all % tp.size() == 0);
    return splits_rows() ? all / tp.size() : all;
  }
  int64_t all_rows(int64_t own) const { return splits_rows() ? own * tp.size() : own; }
  Tensor own_part(const Tensor& all) const {  // own rows of [R, ...]
    const int64_t own = own_rows(all.dim(0));
    return splits_rows() ? all.slice_rows(tp.rank() * own, own) : all;
  }

  // Returns the dropout of a [rows, width] tensor, of which this rank holds the columns from `first_col` on.
  Dropout dropout(double rate, uint32_t purpose, int64_t rows, int64_t width, int64_t first_col = 0) const {
    if (!training || rate <= 0) return {};
    return {.rate = static_cast<float>(rate),
            .seed = seed,
            .purpose = purpose,
            .first = static_cast<uint64_t>(first_col),
            .row_stride = width,
            .block_stride = rows * width,
            .scalars = scalars};
  }
  // Returns the dropout of the `own` rows that this rank holds of a [R, width] tensor.
  Dropout row_dropout(double rate, uint32_t purpose, int64_t own, int64_t width) const {
    Dropout d = dropout(rate, purpose, all_rows(own), width);
    if (splits_rows()) d.first = static_cast<uint64_t>(tp.rank() * own * width);
    return d;
  }
};

// Uploads host integers to an arena tensor with space for at least `capacity` integers, so that the arena's size does
// not depend on the sentences.
inline Tensor upload(Pass& p, const std::vector<int32_t>& values, int64_t capacity = 0) {
  const int64_t n = static_cast<int64_t>(values.size());
  const Tensor t = p.arena.tensor({std::max(n, capacity)}, DType::i32).slice_rows(0, n);
  upload(p.ctx, values.data(), t);
  return t;
}

}  // namespace weft
