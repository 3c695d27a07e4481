// trainer/step/corpus_losses.h: sums the loss of a step separately for each corpus of a mix.
//
// A block contains sentences of several corpora, and the next block overwrites the losses of this block. The losses are
// therefore copied on the device after each block, and read once, after the step.
#pragma once

#include <cstdint>
#include <vector>

#include "data/batch.h"
#include "tensor/context.h"
#include "tensor/memory.h"

namespace weft {

struct CorpusTotals {        // totals of one corpus in a step
  int64_t passed = 0;        // pairs read, including pairs that are too long
  double nll = 0;            // weighted sum over the corpus's target tokens, in nats
  double target_weight = 0;  // sum of the tokens' weights; their number if the run has no weights
};

class CorpusLosses {
 public:
  CorpusLosses(int64_t num_blocks, int64_t target_rows, Device device);

  Tensor of_block() const { return row(num_blocks_); }  // [T] f32: nll per row of the current block
  void keep(Context& ctx, int64_t i);                   // copies of_block() to block i; call it after that block

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
