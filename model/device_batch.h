// model/device_batch.h: defines a block of sentence pairs (data/batch.h) in device memory.
#pragma once

#include "data/batch.h"
#include "model/pass.h"

namespace weft {

struct DeviceBatch {
  Sequences source, target;
  Tensor labels;   // [T rows] i32: the token that each target row predicts; -1 in unused rows
  Tensor weights;  // [T rows]? f32: factors of the rows' losses; empty: all 1
};

// Resets the arena, which then holds the batch and everything computed from the batch until the next call. `start_id`
// replaces bos as the first input of each target sentence (ModelConfig::start_id).
DeviceBatch load_batch(Pass& p, const Block& block, int32_t start_id);

}  // namespace weft
