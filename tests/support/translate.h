// tests/support/translate.h: translations of texts or tokens without tags.
#pragma once

#include <utility>
#include <vector>

#include "trainer/inference/translator.h"

namespace weft::testing {

inline std::vector<NBest> translate_lines(Translator& translator, const std::vector<std::string>& lines) {
  std::vector<TranslationInput> inputs;
  for (const std::string& line : lines)
    inputs.push_back({.source = translator.source_tokenizer().encode(line), .prefix = {}});
  return translator.translate_inputs(std::move(inputs));
}

inline std::vector<NBest> translate_tokens(Translator& translator, const std::vector<std::vector<int32_t>>& sources) {
  std::vector<TranslationInput> inputs;
  for (const std::vector<int32_t>& source : sources) inputs.push_back({.source = source, .prefix = {}});
  return translator.translate_inputs(std::move(inputs));
}

}  // namespace weft::testing
