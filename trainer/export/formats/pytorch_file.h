// trainer/export/formats/pytorch_file.h: writes and reads a model's weights as a safetensors file for PyTorch.
//
// pytorch_weights.h and docs/pytorch.md describe names and shapes. Writing and reading preserve every bit (F16 and BF16
// values are widened exactly). The functions do not communicate. REQUIRES: `params` are complete on this rank (tp = 1).
#pragma once

#include <string>
#include <vector>

#include "model/config.h"
#include "model/parameters/param_store.h"

namespace weft {

// Writes a new file, not atomically, because its folder is committed as one unit (trainer/export/output_folder.h).
void write_pytorch_file(const std::string& path, const ModelConfig& config, const ParamStore& params);

// Returns values in the layout of the flat buffer of `params`. The buffer need not be allocated.
//
// Throws an Error of kind checkpoint that names file and tensor unless the file contains exactly this model. No tensor
// may be missing, superfluous, not finite or of a different shape or type. Tied names must have equal values, and
// biases that the model lacks must be zero. Allocates memory for values only after checking all names and shapes.
std::vector<float> read_pytorch_file(const std::string& path, const ModelConfig& config, const ParamStore& params);

}  // namespace weft
