// data/subword/text_changes.cpp: compares a text with what its tokens spell.
#include "data/subword/text_changes.h"

#include <algorithm>

#include "data/batch.h"
#include "data/text/unicode.h"

namespace weft {

const char* description(TextChange change) {
  constexpr const char* kNames[] = {"unknown characters", "spaces", "normalized characters"};
  return kNames[static_cast<size_t>(change)];
}

std::optional<TextChange> text_change(std::string_view text, const std::vector<int32_t>& ids,
                                      const Tokenizer& tokenizer) {
  if (tokenizer.spells(ids, text)) return std::nullopt;
  if (std::ranges::count(ids, SpecialIds::unk) > 0) return TextChange::unknown;
  const std::string after = tokenizer.decode(ids);
  if (after == text) return std::nullopt;
  return split_words(after) == split_words(text) ? TextChange::spaces : TextChange::normalized;
}

}  // namespace weft
