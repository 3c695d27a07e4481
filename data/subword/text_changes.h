// data/subword/text_changes.h: what a tokenizer does not keep of a text, which a model can therefore not learn.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/tally.h"
#include "data/tokenizer.h"

namespace weft {

enum class TextChange : uint8_t {
  unknown,     // a character is neither in the vocabulary nor spelled in bytes
  spaces,      // only white space differs: runs of spaces, or spaces at the ends
  normalized,  // the normalization rule of the tokenizer replaces characters
};
inline constexpr size_t kNumTextChanges = 3;
const char* description(TextChange change);

struct ChangedText {
  TextChange change = TextChange::normalized;
  int64_t number = 0;  // of the line, counted from 0
  std::string before, after;
};
// Returns how decode(ids) differs from the text of line `number`, or nullopt if it does not. REQUIRES: ids are the
// encoded text.
std::optional<ChangedText> changed_text(const std::string& text, int64_t number, const std::vector<int32_t>& ids,
                                        const Tokenizer& tokenizer);
using TextChanges = Tally<TextChange, kNumTextChanges, ChangedText>;

}  // namespace weft
