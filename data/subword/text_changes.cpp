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

std::optional<ChangedText> changed_text(const std::string& text, int64_t number, const std::vector<int32_t>& ids,
                                        const Tokenizer& tokenizer) {
  if (tokenizer.spells(ids, text)) return std::nullopt;
  ChangedText changed{.number = number, .before = text, .after = tokenizer.decode(ids)};
  if (std::ranges::count(ids, SpecialIds::unk) > 0)
    changed.change = TextChange::unknown;
  else if (changed.after == text)
    return std::nullopt;
  else if (split_words(changed.after) == split_words(text))
    changed.change = TextChange::spaces;
  return changed;
}

}  // namespace weft
