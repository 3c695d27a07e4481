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
#include "tensor/step_state.h"
#include "tensor/transfer.h"

namespace weft {

using ops::SequenceRanges;

struct Pass {
  Context& ctx;
  Arena& arena;
  const TensorParallel& tp;
  uint64_t seed = 0;
  int64_t step = 0;       // keys for counted randomness
  int64_t block = 0;      // the block's index in its step
  bool training = false;  // dropout applies
  // Keep only each block's input; its backward pass begins with its forward pass again (Chen et al. 2016).
  bool recompute = false;
  // ? In a GPU's memory, for work that is recorded once and replayed (tensor/recorded_work.h): step, block and the loss
  // scale are read there, and a block counts as many sentences as fit, so that no shape differs from block to block.
  const StepState* state = nullptr;

  // Dropout on a [rows, width] tensor of which this rank holds columns from `first_col` on.
  Dropout dropout(double rate, uint32_t purpose, int64_t rows, int64_t width, int64_t first_col = 0) const {
    if (!training || rate <= 0) return {};
    const int64_t block_begin = state != nullptr ? 0 : block * rows * width;
    return {.rate = static_cast<float>(rate),
            .seed = seed,
            .step = state != nullptr ? 0 : static_cast<uint32_t>(step),
            .purpose = purpose,
            .first = static_cast<uint64_t>(block_begin + first_col),
            .row_stride = width,
            .state = state,
            .block_stride = rows * width};
  }
};

// Host integers as a tensor of the arena, which gives room for at least `capacity`, so that its size does not depend on
// the sentences.
inline Tensor upload(Pass& p, const std::vector<int32_t>& values, int64_t capacity = 0) {
  const int64_t n = static_cast<int64_t>(values.size());
  const Tensor t = p.arena.tensor({std::max(n, capacity)}, DType::i32).slice_rows(0, n);
  upload(p.ctx, values.data(), t);
  return t;
}

}  // namespace weft
