// trainer/checkpoint/average.h: a checkpoint whose weights are the mean of several checkpoints' (Vaswani et al. 2017,
// section 6.1, average the last 5 or 20 of a run).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "trainer/checkpoint/checkpoint.h"

namespace weft {

// Writes the mean of the weights of `folders` as a checkpoint under `root`, of the last one's step, with its
// configuration and tokenizers. It has no optimizer's state. `state`: its state.json. Sums are in double, in the order
// of `folders`, and are rounded once: the same folders give the same bytes. The memory of one tensor is needed, twice.
// `on_progress` gets the tensors that are done, and all. Returns the checkpoint's folder.
//
// Errors of kind checkpoint, before anything is written: a file that is damaged or missing, tensors or tokenizers of
// another model. Of the same kind, and nothing is left: a value that is not finite. Kind io: the step exists in `root`.
std::string average_checkpoints(const std::vector<std::string>& folders, StoredWeights which, const std::string& root,
                                const nlohmann::json& state,
                                const std::function<void(int64_t, int64_t)>& on_progress = {});

}  // namespace weft
