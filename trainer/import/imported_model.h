// trainer/import/imported_model.h: a model from another program, as Weft saves it in a checkpoint.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "trainer/config/run_config.h"

namespace weft {

struct ImportedModel {
  RunConfig config;                               // resolved for one rank
  std::map<std::string, std::string> tokenizers;  // contents of tokenizer.model, or source.model and target.model
  std::vector<float> values;                      // in the layout of the flat buffer of the parameters
};

// Imports a folder of transformers (docs/foreign-models.md). Throws an Error of kind checkpoint or data that names
// file and cause if the folder is damaged or the model is not supported. All checks of names and shapes come before
// memory for the values is allocated.
ImportedModel import_huggingface(const std::string& folder);

}  // namespace weft
