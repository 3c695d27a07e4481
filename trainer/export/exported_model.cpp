// trainer/export/exported_model.cpp: rejects models, copies tokenizers, and lists pieces.
#include "trainer/export/exported_model.h"

#include <fmt/format.h>

#include "tensor/error.h"

namespace weft {

void refuse_form(const std::string& engine, const std::string& option, const std::string& value,
                 const std::string& what_fits) {
  fail(ErrorKind::usage,
       fmt::format(
           "{} does not support {} = {}: {}; export the model to ctranslate2, or train a model with supported options",
           engine, option, value, what_fits));
}

void copy_tokenizers(const ExportedModel& model, const OutputFolder& output) {
  if (model.has_one_tokenizer()) return output.copy(model.source_file(), "tokenizer.model");
  output.copy(model.source_file(), "source.model");
  output.copy(model.target_file(), "target.model");
}

std::vector<std::string> pieces_of(const Tokenizer& tokenizer) {
  std::vector<std::string> pieces;
  for (int64_t id = 0; id < tokenizer.size(); ++id) pieces.push_back(tokenizer.piece(static_cast<int32_t>(id)));
  return pieces;
}

}  // namespace weft
