// trainer/metrics/token_rules.h: contains building blocks of tokenizers, which scan a line and insert spaces.
//
// Predicates take code points. A byte that is not valid UTF-8 counts as U+FFFF, a noncharacter that no rule matches.
#pragma once

#include <string>
#include <string_view>

#include "data/text/unicode.h"

namespace weft {

inline char32_t character_at(std::string_view text, size_t position, int& num_bytes) {
  const CodePoint c = code_point_at(text, position);
  num_bytes = c.num_bytes;
  return c.valid ? c.value : U'\uFFFF';
}

// Puts a space on both sides of every character that matches.
template <typename Matches>
std::string space_around(std::string_view text, Matches matches) {
  std::string out;
  for (size_t i = 0; i < text.size();) {
    int num_bytes = 0;
    const bool match = matches(character_at(text, i, num_bytes));
    if (match) out.push_back(' ');
    out.append(text.substr(i, num_bytes));
    if (match) out.push_back(' ');
    i += num_bytes;
  }
  return out;
}

// Replaces two adjacent characters that match by `before`, the two with a space in between, and `after`. Pairs do not
// overlap.
template <typename Matches>
std::string space_out(std::string_view text, Matches matches, const char* before, const char* after) {
  std::string out;
  for (size_t i = 0; i < text.size();) {
    int first = 0, second = 0;
    const char32_t c = character_at(text, i, first);
    const size_t next = i + first;
    if (next < text.size() && matches(c, character_at(text, next, second))) {
      out.append(before).append(text.substr(i, first)).append(" ").append(text.substr(next, second)).append(after);
    } else {
      second = 0;
      out.append(text.substr(i, first));
    }
    i = next + second;
  }
  return out;
}

template <typename Matches>
std::string without(std::string_view text, Matches matches) {
  std::string out;
  for (size_t i = 0; i < text.size();) {
    int num_bytes = 0;
    if (!matches(character_at(text, i, num_bytes))) out.append(text.substr(i, num_bytes));
    i += num_bytes;
  }
  return out;
}

void replace_all(std::string& text, std::string_view from, std::string_view to);
void undo_entities(std::string& text);  // decodes &quot; &amp; &lt; &gt; in this order, so &amp;lt; becomes <

std::string split_ascii_signs(std::string_view text);         // puts spaces around ASCII signs except ' , - .
std::string split_points_and_hyphens(std::string_view text);  // splits off . and , outside numbers, - after a digit

}  // namespace weft
