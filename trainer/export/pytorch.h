// trainer/export/pytorch.h: exports a model as a folder for PyTorch: weights, configuration, tokenizers, and the Python
// module that loads them and translates (weft_transformer.py).
//
// require_pytorch_model (trainer/export/pytorch_weights.h) checks the model. docs/pytorch.md describes the files.
#pragma once

#include <string_view>

#include "trainer/export/exported_model.h"

namespace weft {

extern const std::string_view kPytorchModule;  // weft_transformer.py

void export_pytorch(const ExportedModel& model, const OutputFolder& output);

}  // namespace weft
