// trainer/flat_states.h: lists the tensors of a checkpoint: values, moments and average, gathered if they are sharded.
#pragma once

#include <vector>

#include "trainer/checkpoint/file_layout.h"
#include "trainer/optimizer/optimizer.h"

namespace weft {

// Returns the states sorted by prefix, which puts the model first. The arguments must outlive them. Sharded states are
// gathered over `dp` into the memory of the gradients. REQUIRES: in f32, all weights were gathered (ParamGather).
std::vector<FlatState> flat_states(Context& ctx, Communicator& dp, const ParamStore& params,
                                   const Optimizer& optimizer);

}  // namespace weft
