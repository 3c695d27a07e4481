// trainer/export/pytorch.h: exports a model as a folder for PyTorch: weights, configuration, tokenizers, and the Python
// module weft_transformer.py, which loads them and translates.
//
// require_pytorch_model() (trainer/export/pytorch_weights.h) rejects unsupported models. docs/pytorch.md lists the
// files.
#pragma once

#include <string_view>

#include "trainer/export/exported_model.h"

namespace weft {

extern const std::string_view kPytorchModule;  // weft_transformer.py

void export_pytorch(const ExportedModel& model, const OutputFolder& output);

}  // namespace weft
