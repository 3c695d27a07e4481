// data/noise/letter_case.cpp: looks characters up in the tables of upper case and title case.
#include "data/noise/letter_case.h"

#include <algorithm>
#include <iterator>
#include <span>

#include "data/text/unicode.h"
#include "data/text/unicode_upper.h"

namespace weft {
namespace {

// Appends what the table maps `c` to. Returns false, and appends nothing, if the table lacks `c`.
bool append_mapping(std::string& out, std::span<const unicode_tables::CaseMapping> table, char32_t c) {
  const auto found = std::ranges::lower_bound(table, c, {}, &unicode_tables::CaseMapping::character);
  if (found == table.end() || found->character != c) return false;
  for (const char32_t part : found->to)
    if (part != 0) append_utf8(out, part);
  return true;
}

void append_upper(std::string& out, char32_t c) {
  using unicode_tables::kUpper, unicode_tables::kUpperSeveral;
  if (append_mapping(out, kUpperSeveral, c)) return;
  const auto* after = std::ranges::upper_bound(kUpper, c, {}, &unicode_tables::UpperRange::first);
  const bool found = after != std::begin(kUpper) && c <= std::prev(after)->last &&
                     (c - std::prev(after)->first) % static_cast<char32_t>(std::prev(after)->step) == 0;
  append_utf8(out, found ? c + static_cast<char32_t>(std::prev(after)->delta) : c);
}

std::string title_case_of_word(std::string_view word) {
  size_t at = 0;
  for (; at < word.size(); at += static_cast<size_t>(code_point_at(word, at).num_bytes))
    if (const char32_t c = code_point_at(word, at).value; !is_punctuation(c) && !is_symbol(c)) break;
  if (at == word.size()) return std::string(word);
  const CodePoint first = code_point_at(word, at);
  const size_t rest = at + static_cast<size_t>(first.num_bytes);
  std::string out(word.substr(0, at));
  if (!append_mapping(out, unicode_tables::kTitle, first.value)) out += upper_case(word.substr(at, rest - at));
  // A sigma is final because of what precedes it, so the whole word is converted. Both forms of sigma have two bytes.
  return out + lower_case(word).substr(lower_case(word.substr(0, rest)).size());
}

}  // namespace

std::string upper_case(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size();) {
    const CodePoint c = code_point_at(text, i);
    const auto size = static_cast<size_t>(c.num_bytes);
    if (c.valid) {
      append_upper(out, c.value);
    } else {
      out.append(text.substr(i, size));
    }
    i += size;
  }
  return out;
}

std::string title_case(std::string_view text) {
  std::string out;
  size_t end = 0;
  for (const std::string_view word : split_words(text)) {  // views into `text`
    const auto begin = static_cast<size_t>(word.data() - text.data());
    out.append(text.substr(end, begin - end)).append(title_case_of_word(word));
    end = begin + word.size();
  }
  return out.append(text.substr(end));
}

}  // namespace weft
