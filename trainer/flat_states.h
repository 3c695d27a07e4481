// trainer/flat_states.h: the tensors of a checkpoint: values, moments and average, also of a sharded optimizer.
#pragma once

#include <vector>

#include "trainer/checkpoint/file_layout.h"
#include "trainer/optimizer/optimizer.h"

namespace weft {

// The model first, and all in the order of their prefixes. The arguments outlive it. Sharded states are gathered over
// `dp` into the memory of the gradients. In f32 the weights must be whole (ParamGather) before they are read.
std::vector<FlatState> flat_states(Context& ctx, Communicator& dp, const ParamStore& params,
                                   const Optimizer& optimizer);

}  // namespace weft
