// data/subword/text_changes.h: what a tokenizer does not keep of a text, which a model can therefore not learn.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
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

// Returns how decode(ids) differs from the text, or nullopt if it does not. REQUIRES: ids = encode(text).
std::optional<TextChange> text_change(std::string_view text, const std::vector<int32_t>& ids,
                                      const Tokenizer& tokenizer);

struct ChangedText {
  int64_t number = 0;  // of the line, counted from 0
  std::string before, after;
};
using TextChanges = Tally<TextChange, kNumTextChanges, ChangedText>;

}  // namespace weft
