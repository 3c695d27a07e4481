// model/pass.h: what a forward or backward pass needs besides its inputs.
#pragma once

#include <algorithm>
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
  Tensor positions;                   // [R] i32, of each row within its sentence
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
  bool training = false;                 // dropout applies
  // Keep only each block's input; its backward pass first repeats its forward pass (Chen et al. 2016).
  bool recompute = false;
  // The work will be recorded and replayed (tensor/recorded_work.h): no shape may depend on a block's
  // sentences, so each block has the largest possible number of them.
  bool fixed_shapes = false;
  ParamGather* gather = nullptr;  // weights that arrive during this forward pass

  // Dropout on a [rows, width] tensor; this rank holds its columns from `first_col` on.
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
};

// Host integers as a tensor of the arena, with space for at least `capacity`, so that its size does not
// depend on the sentences.
inline Tensor upload(Pass& p, const std::vector<int32_t>& values, int64_t capacity = 0) {
  const int64_t n = static_cast<int64_t>(values.size());
  const Tensor t = p.arena.tensor({std::max(n, capacity)}, DType::i32).slice_rows(0, n);
  upload(p.ctx, values.data(), t);
  return t;
}

}  // namespace weft
