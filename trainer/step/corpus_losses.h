// trainer/step/corpus_losses.h: divides a step's loss among the corpora of a mix.
//
// A block mixes corpora, and the next block overwrites its rows' losses. So they are copied on the device, during the
// work of the block, and read once, after the step.
#pragma once

#include <cstdint>
#include <vector>

#include "data/batch.h"
#include "tensor/context.h"
#include "tensor/memory.h"

namespace weft {

struct CorpusTotals {        // per step
  int64_t passed = 0;        // pairs given, or left out because they do not fit a block
  double nll = 0;            // sum over its target tokens in nats, each times its weight
  double target_weight = 0;  // sum over these tokens; their number if the run has no weights
};

class CorpusLosses {
 public:
  CorpusLosses(int64_t num_blocks, int64_t target_rows, Device device);

  Tensor of_block() const { return row(num_blocks_); }  // [T] f32: a block's nll, which its work writes
  void keep(Context& ctx, int64_t i);                   // keeps block i of this rank; enqueued after the block's work

  // Adds the losses of this rank's blocks to the totals of the step's corpora. Waits for the device.
  void add_to(std::vector<CorpusTotals>& totals, Context& ctx, const Step& step) const;

 private:
  Tensor row(int64_t i) const {
    return buffer_.tensor({rows_}, DType::f32, static_cast<size_t>(i * rows_) * sizeof(float));
  }

  int64_t num_blocks_, rows_;
  Buffer buffer_;  // [num_blocks + 1, T]
};

}  // namespace weft
