// trainer/inference/document_translator.h: translates the lines of a document together, but returns one text per line.
//
// Consecutive lines are joined up to a limit of source tokens, with a separator between two lines, in the same way as
// pairs in `weft pack --documents`. The separators in the translation show where each line ends. If the number of
// separators is wrong, the joined lines are translated again, one by one.
#pragma once

#include <cstdint>
#include <vector>

#include "trainer/inference/translator.h"

namespace weft {

class DocumentTranslator {
 public:
  // `longest` is the maximum number of source tokens of joined lines, including tags and separators. Throws a usage
  // Error if the model cannot read that many tokens, or if a tokenizer lacks the separator (kSeparator in data/tags.h).
  DocumentTranslator(Translator& translator, int64_t longest);

  // A document ends at an empty line or where the tags change. Lines with a text prefix are not joined. The score of
  // a joined line is that of its own tokens and the separator or eos that ends it, given all tokens before them.
  std::vector<NBest> translate(const std::vector<TranslationInput>& lines, const Translator::Progress& progress = {});

  // Returns the number of leading lines that cannot be joined with any line that follows `lines`.
  size_t num_complete(const std::vector<TranslationInput>& lines) const;

  int64_t num_joined() const { return num_joined_; }  // lines translated together since construction
  int64_t num_again() const { return num_again_; }    // joined lines that were translated again

 private:
  struct Window {
    size_t begin = 0, count = 0;
    TranslationInput input;
  };
  std::vector<Window> windows_of(const std::vector<TranslationInput>& lines) const;
  bool fits(const TranslationInput& joined, const TranslationInput& line) const;
  std::vector<Translation> split(const Translation& joined) const;  // one per line, if the separators are right

  Translator& translator_;
  int64_t longest_;
  int32_t source_separator_, target_separator_;
  int64_t num_joined_ = 0, num_again_ = 0;
};

}  // namespace weft
