// trainer/checkpoint/model_checkpoint.h: writes a checkpoint that contains only a model, without holding it in memory.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "trainer/checkpoint/safetensors.h"

namespace weft {

struct ModelCheckpoint {
  int64_t step = 0;
  std::map<std::string, std::vector<int64_t>> shapes;  // by parameter name
  Int8Rows int8_rows = {};                             // of the parameters to be stored in int8
  // Writes the values of a tensor to `put`, from the first to the last, in any number of parts.
  using Put = std::function<void(const float* values, int64_t count)>;
  std::function<void(const std::string& name, const Put& put)> read;
  nlohmann::json state;                                             // of state.json
  std::string config;                                               // of config.cfg
  std::map<std::string, std::string> tokenizers;                    // contents by file name
  std::function<void(int64_t done, int64_t all)> on_progress = {};  // numbers of tensors
};

// Writes the checkpoint under `root`, and returns its folder. Leaves no files behind if `read` throws. Throws an Error
// of kind io if `root` already contains the step.
std::string write_model_checkpoint(const std::string& root, const ModelCheckpoint& model);

}  // namespace weft
