// model/device_batch.h: a block of sentence pairs (data/batch.h) in a device's memory.
#pragma once

#include "data/batch.h"
#include "model/pass.h"

namespace weft {

struct Sequences {      // one side of a block: R rows, B sentences laid end to end
  Tensor ids;           // [R] i32
  Tensor positions;     // [R] i32, of each row within its sentence
  SequenceRanges rows;  // [B] each: which rows are a sentence's
};

struct DeviceBatch {
  Sequences source, target;
  Tensor labels;  // [T rows] i32: the token that each target row predicts; -1 in unused rows
};

// The arena is reset; it holds the batch, and what is computed from it, until the next one.
DeviceBatch load_batch(Pass& p, const Block& block);

}  // namespace weft
