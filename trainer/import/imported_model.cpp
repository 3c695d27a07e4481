// trainer/import/imported_model.cpp: what all imported models have in common.
#include "trainer/import/imported_model.h"

#include <fmt/format.h>

#include "tensor/error.h"

namespace weft {

void check_sizes(ModelConfig model, const std::string& file) {
  try {
    model.resolve(/*tp=*/1);
  } catch (const Error& error) {
    fail(ErrorKind::checkpoint, fmt::format("{}: {}", file, error.what()));
  }
}

RunConfig imported_config(RunConfig config, const ImportedVocabularies& vocabularies) {
  config.model.source_vocabulary = std::ssize(vocabularies.source.rows);
  config.model.target_vocabulary = std::ssize(vocabularies.target.rows);
  config.parallel = {.dp = 1, .tp = 1};
  config.model.resolve(/*tp=*/1);
  return config;
}

std::map<std::string, std::string> tokenizers_of(const ImportedVocabularies& vocabularies) {
  const std::string &source = vocabularies.source.tokenizer, &target = vocabularies.target.tokenizer;
  if (source == target) return {{"tokenizer.model", source}};
  return {{"source.model", source}, {"target.model", target}};
}

}  // namespace weft
