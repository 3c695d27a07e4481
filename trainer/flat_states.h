// trainer/flat_states.h: lists a checkpoint's tensors (weights, moments, average) and gathers sharded tensors.
#pragma once

#include <vector>

#include "trainer/checkpoint/file_layout.h"
#include "trainer/optimizer/optimizer.h"

namespace weft {

// The values of the frozen parameters alone: with adapters, the model that they adapt (checkpoint/stored_model.h).
FlatState frozen_state(const ParamStore& params);

// Returns the states sorted by prefix, so the model comes first. Adapters are stored without the frozen values. The
// arguments must outlive the states. Sharded states are gathered over `dp` into the gradients' memory. REQUIRES: in
// f32, the weights are gathered (ParamGather).
std::vector<FlatState> flat_states(Context& ctx, Communicator& dp, const ParamStore& params,
                                   const Optimizer& optimizer);

}  // namespace weft
