// trainer/export/formats/pytorch_file.h: a model's weights as a safetensors file that PyTorch loads, and back.
//
// Names and shapes: pytorch_weights.h and docs/pytorch.md. `params` are whole on this rank (tp = 1). Both
// directions preserve every bit (F16 and BF16 files are widened, which is exact). No function communicates.
#pragma once

#include <string>
#include <vector>

#include "model/config.h"
#include "model/parameters/param_store.h"

namespace weft {

// A new file, not atomically: in a folder that appears whole (trainer/export/output_folder.h).
void write_pytorch_file(const std::string& path, const ModelConfig& config, const ParamStore& params);

// The values of `params`, laid out like their flat buffer, which need not be allocated.
//
// A file that does not hold exactly this model (a tensor missing, too many, of another shape or type, not
// finite; tied names with different values; a bias that the model lacks and that is not zero) is an Error of
// kind checkpoint that names file and tensor. Memory for values is allocated after every name and shape was
// checked.
std::vector<float> read_pytorch_file(const std::string& path, const ModelConfig& config, const ParamStore& params);

}  // namespace weft
