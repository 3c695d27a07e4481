// trainer/checkpoint/average.h: averages the weights of several checkpoints into one. Vaswani et al. 2017, section 6.1,
// average the last 5 or 20 checkpoints of a run.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "trainer/checkpoint/checkpoint.h"

namespace weft {

// Writes the mean of the weights of `folders` as a checkpoint under `root`, and returns its folder. The checkpoint has
// the step, configuration and tokenizers of the last folder, `state` as its state.json, and no optimizer state. Sums
// are in double, in the order of `folders`, and are rounded once, so the same folders give the same bytes. Needs memory
// for one tensor in f32 and in double. `on_progress` gets the numbers of finished and of all tensors.
//
// Throws an Error of kind checkpoint before it writes anything if a file is damaged or missing, or if tensors or
// tokenizers belong to different models. Throws one also if a value is not finite, and then leaves no files behind.
// Throws an Error of kind io if `root` already contains the step.
std::string average_checkpoints(const std::vector<std::string>& folders, StoredWeights which, const std::string& root,
                                const nlohmann::json& state,
                                const std::function<void(int64_t, int64_t)>& on_progress = {});

}  // namespace weft
