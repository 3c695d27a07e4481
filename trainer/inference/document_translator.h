// trainer/inference/document_translator.h: translates consecutive lines of a document together, and gives back one
// translation for each.
//
// Lines are joined as `weft pack --documents` joins pairs: with a separator between them, up to a number of source
// tokens. The model's separators tell where a line's translation ends. Where there are too few or too many, these lines
// are translated again, each by itself.
#pragma once

#include <cstdint>
#include <vector>

#include "trainer/inference/translator.h"

namespace weft {

class DocumentTranslator {
 public:
  // longest: source tokens of lines that are joined, with tags and separators. A usage Error if the model reads fewer,
  // or if a tokenizer has no separator (kSeparator of data/tags.h).
  DocumentTranslator(Translator& translator, int64_t longest);

  // A line without tokens ends a document, and so do other tags; one with a prefix of text stays alone. Scores are not
  // given.
  std::vector<NBest> translate(const std::vector<TranslationInput>& lines, const Translator::Progress& progress = {});

  // The number of first lines that are joined with none that may follow.
  size_t num_complete(const std::vector<TranslationInput>& lines) const;

  int64_t num_joined() const { return num_joined_; }  // lines that were translated with others, since construction
  int64_t num_again() const { return num_again_; }    // of these, lines that were then translated by themselves

 private:
  struct Window {
    size_t begin = 0, count = 0;
    TranslationInput input;
  };
  std::vector<Window> windows_of(const std::vector<TranslationInput>& lines) const;
  bool fits(const TranslationInput& joined, const TranslationInput& line) const;
  std::vector<std::vector<int32_t>> split(const std::vector<int32_t>& tokens) const;

  Translator& translator_;
  int64_t longest_;
  int32_t source_separator_, target_separator_;
  int64_t num_joined_ = 0, num_again_ = 0;
};

}  // namespace weft
