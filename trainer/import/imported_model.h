// trainer/import/imported_model.h: a model from another program, as Weft saves it in a checkpoint.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "trainer/config/run_config.h"
#include "trainer/import/foreign_vocabulary.h"

namespace weft {

struct ImportedModel {
  RunConfig config;                               // resolved for one rank
  std::map<std::string, std::string> tokenizers;  // contents of tokenizer.model, or source.model and target.model
  std::function<void(const std::string& name, float* values)> read;  // reads a parameter; throws an Error
  std::vector<std::string> unused_options = {};                      // of the other program's search
};

// Throws an Error of kind checkpoint that names `file` if no model has these sizes. Afterwards, they can be multiplied.
void check_sizes(ModelConfig model, const std::string& file);

// Return the configuration with the sizes of the vocabularies, resolved for one rank, and the files of tokenizers.
RunConfig imported_config(RunConfig config, const ImportedVocabularies& vocabularies);
std::map<std::string, std::string> tokenizers_of(const ImportedVocabularies& vocabularies);

// Imports a folder of transformers (docs/foreign-models.md). Throws an Error of kind checkpoint or data that names
// file and cause if the folder is damaged or the model is not supported. Checks all names and shapes, but reads the
// values later.
ImportedModel import_huggingface(const std::string& folder);

// Imports a model of Marian (docs/foreign-models.md): a .npz or .bin file, or the folder that contains it. Errors are
// as above.
ImportedModel import_marian(const std::string& from);

struct ImportedAdapters {
  LoraConfig lora;
  std::function<void(const std::string& name, float* values)> read;  // reads a parameter of adapters
};
// Imports a folder of peft for a model of transformers that has been imported as `base`. Errors are as above.
ImportedAdapters import_peft(const std::string& folder, ModelConfig base);

// Imports a folder for CTranslate2 that `weft export` has written. Errors are as above.
ImportedModel import_ctranslate2(const std::string& folder);

}  // namespace weft
