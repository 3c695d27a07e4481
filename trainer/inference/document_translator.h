// trainer/inference/document_translator.h: translates lines of a document together, and returns one text per line.
//
// Lines are joined as `weft pack --documents` joins pairs: with a separator between them, up to a number of source
// tokens. The model's separators show where a line's translation ends. If there are too few or too many, these lines
// are translated again one by one.
#pragma once

#include <cstdint>
#include <vector>

#include "trainer/inference/translator.h"

namespace weft {

class DocumentTranslator {
 public:
  // `longest` is the maximum number of source tokens of joined lines, with tags and separators. Throws a usage Error if
  // the model reads fewer, or if a tokenizer lacks a separator (kSeparator of data/tags.h).
  DocumentTranslator(Translator& translator, int64_t longest);

  // A document ends at an empty line, or where the tags change. Lines with a text prefix are not joined, and scores are
  // not set.
  std::vector<NBest> translate(const std::vector<TranslationInput>& lines, const Translator::Progress& progress = {});

  // Returns the number of first lines that later lines cannot join.
  size_t num_complete(const std::vector<TranslationInput>& lines) const;

  int64_t num_joined() const { return num_joined_; }  // lines that were translated with others, since construction
  int64_t num_again() const { return num_again_; }    // those of them that were then translated separately

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
