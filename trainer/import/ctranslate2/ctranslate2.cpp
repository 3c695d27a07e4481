// trainer/import/ctranslate2/ctranslate2.cpp: reads a folder that `weft export --format ctranslate2` has written.
#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <numeric>

#include "data/atomic_file.h"
#include "data/tokenizer.h"
#include "tensor/error.h"
#include "trainer/export/names/ctranslate2_names.h"
#include "trainer/import/ctranslate2/ctranslate2_config.h"
#include "trainer/import/foreign_model.h"
#include "trainer/import/imported_model.h"

namespace weft {
namespace {

ImportedVocabulary read_tokenizer(const std::string& file, int64_t rows) {
  if (!std::filesystem::exists(file))
    fail(ErrorKind::checkpoint, fmt::format("{} does not exist: only folders that contain Weft's tokenizers can be "
                                            "imported",
                                            file));
  if (const int64_t size = Tokenizer(file).size(); size != rows)
    fail(ErrorKind::checkpoint, fmt::format("{} has {} entries, but the model's table has {} rows", file, size, rows));
  ImportedVocabulary vocabulary{.rows = std::vector<int64_t>(static_cast<size_t>(rows)), .tokenizer = read_file(file)};
  std::iota(vocabulary.rows.begin(), vocabulary.rows.end(), 0);
  return vocabulary;
}

ImportedVocabularies read_tokenizers(const std::string& folder, const ModelConfig& model) {
  const bool joint = std::filesystem::exists(folder + "/tokenizer.model");
  return {.source = read_tokenizer(folder + (joint ? "/tokenizer.model" : "/source.model"), model.source_vocabulary),
          .target = read_tokenizer(folder + (joint ? "/tokenizer.model" : "/target.model"), model.target_vocabulary)};
}

}  // namespace

ImportedModel import_ctranslate2(const std::string& folder) {
  const std::string file = folder + "/model.bin";
  Ctranslate2Variables variables = open_ctranslate2(file);
  RunConfig config;
  config.model = read_ctranslate2_config(variables, file, JsonFields(folder + "/config.json"));
  const ImportedVocabularies vocabularies = read_tokenizers(folder, config.model);
  const auto model = std::make_shared<ForeignModel>(ForeignModel{.from = file,
                                                                 .config = "its options",
                                                                 .files = std::move(variables.files),
                                                                 .tensors = ctranslate2_names(config.model),
                                                                 .source_rows = vocabularies.source.rows,
                                                                 .target_rows = vocabularies.target.rows,
                                                                 .width = config.model.width});
  const bool has_sinusoids = config.model.positions != Positions::learned;
  model->check(
      [&](const std::string& name) { return has_sinusoids && name.ends_with("/position_encodings/encodings"); });
  return {.config = imported_config(std::move(config), vocabularies),
          .tokenizers = tokenizers_of(vocabularies),
          .read = [model](const std::string& name, float* values) { model->read(name, values); }};
}

}  // namespace weft
