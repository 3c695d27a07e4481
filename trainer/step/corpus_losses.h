// trainer/step/corpus_losses.h: divides a step's loss among the corpora of a mix.
//
// A block mixes corpora, and the next block overwrites the losses of its rows. The losses are therefore copied on the
// device after each block, and read once, after the step.
#pragma once

#include <cstdint>
#include <vector>

#include "data/batch.h"
#include "tensor/context.h"
#include "tensor/memory.h"

namespace weft {

struct CorpusTotals {        // per step
  int64_t passed = 0;        // pairs read, including pairs that do not fit a block
  double nll = 0;            // weighted sum over the corpus's target tokens, in nats
  double target_weight = 0;  // weight of these tokens; their number if the run has no weights
};

class CorpusLosses {
 public:
  CorpusLosses(int64_t num_blocks, int64_t target_rows, Device device);

  Tensor of_block() const { return row(num_blocks_); }  // [T] f32: nll per row, written by a block's work
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
