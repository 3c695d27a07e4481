// trainer/checkpoint/average.h: averages weights of several checkpoints, as in Vaswani et al. 2017, section 6.1.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "trainer/checkpoint/checkpoint.h"

namespace weft {

// Writes the mean of the weights of `folders` as a checkpoint under `root`. It gets the last one's step, configuration
// and tokenizers, `state` as its state.json, and no optimizer state. Sums are in double, in the order of `folders`, and
// are rounded once, so the same folders give the same bytes. Needs the memory of one tensor twice. `on_progress` gets
// the number of tensors that are done, and of all. Returns the checkpoint's folder.
//
// Throws an Error of kind checkpoint if a file is damaged or missing, or if tensors or tokenizers are from another
// model, before anything is written; also if a value is not finite, and then leaves nothing behind. Throws kind io if
// the step exists in `root`.
std::string average_checkpoints(const std::vector<std::string>& folders, StoredWeights which, const std::string& root,
                                const nlohmann::json& state,
                                const std::function<void(int64_t, int64_t)>& on_progress = {});

}  // namespace weft
