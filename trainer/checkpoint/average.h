// trainer/checkpoint/average.h: writes a checkpoint with the mean weights of several checkpoints, such as the last 5 or
// 20 of a run (Vaswani et al. 2017, section 6.1).
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "trainer/checkpoint/checkpoint.h"
#include "trainer/checkpoint/safetensors.h"

namespace weft {

struct AverageContents {
  nlohmann::json state;     // of state.json
  std::string config;       // of config.cfg
  Int8Rows int8_rows = {};  // of the means to be stored in int8
};

// Writes the mean weights of the checkpoints `folders` as a checkpoint under `root`, and returns its folder. The
// checkpoint has the step and tokenizers of the last folder, and no optimizer state. Adapters become part of the
// matrices that they adapt (stored_model.h). Sums are in double in the order of `folders` and are rounded once (in
// int8, twice), so the same folders give the same bytes. Needs memory for a part of a tensor, or for one adapted
// tensor. `on_progress` gets the numbers of finished and of all tensors.
//
// Throws an Error of kind checkpoint before it writes anything if a file is damaged or missing, or if the folders
// contain different models or tokenizers. Throws the same kind of Error if a value is not finite, and then leaves no
// files behind. Throws an Error of kind io if `root` already contains the step.
std::string average_checkpoints(const std::vector<std::string>& folders, StoredWeights which, const std::string& root,
                                const AverageContents& contents,
                                const std::function<void(int64_t, int64_t)>& on_progress = {});

}  // namespace weft
