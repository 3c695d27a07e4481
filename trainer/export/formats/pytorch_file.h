// trainer/export/formats/pytorch_file.h: writes and reads a model's weights as a safetensors file for PyTorch.
//
// pytorch_weights.h and docs/pytorch.md describe names and shapes. Writing and reading preserve every bit (F16 and BF16
// values are widened exactly). No function communicates. REQUIRES: `params` are complete on this rank (tp = 1).
#pragma once

#include <string>
#include <vector>

#include "model/config.h"
#include "model/parameters/param_store.h"

namespace weft {

// Writes a new file. The write need not be atomic, because its folder is (trainer/export/output_folder.h).
void write_pytorch_file(const std::string& path, const ModelConfig& config, const ParamStore& params);

// Returns values for `params`, laid out like their flat buffer, which need not be allocated.
//
// Throws an Error of kind checkpoint that names file and tensor unless the file contains exactly this model: no tensor
// is missing, superfluous, not finite or of a different shape or type, tied names have equal values, and each bias that
// the model lacks is zero. Memory for values is allocated only after all names and shapes have been checked.
std::vector<float> read_pytorch_file(const std::string& path, const ModelConfig& config, const ParamStore& params);

}  // namespace weft
