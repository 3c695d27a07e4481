// trainer/display/wrap.cpp: breaks lines by their number of UTF-8 characters.
#include "trainer/display/wrap.h"

#include <fmt/format.h>

#include <algorithm>

#include "data/text/split.h"
#include "data/text/unicode.h"

namespace weft {

std::string wrap_words(std::string_view text, size_t indent, size_t columns) {
  std::string out;
  size_t column = indent;
  while (!text.empty()) {
    size_t end = std::min(text.find(' '), text.size());
    if (text.substr(end).starts_with(" %")) end = std::min(text.find(' ', end + 1), text.size());  // keeps "5 %"
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const auto width = static_cast<size_t>(num_characters(word));
    if (!out.empty() && column + 1 + width > columns) {
      out += "\n" + std::string(indent, ' ');
      column = indent;
    } else if (!out.empty()) {
      out += ' ';
      ++column;
    }
    out += word;
    column += width;
  }
  return out;
}

std::string wrap_lines(std::string_view text, size_t indent, size_t columns) {
  std::string out;
  for (const std::string_view line : split_lines(text)) {
    const std::string_view head = line.substr(0, std::min(indent, line.size()));
    out += fmt::format("{}{}\n", head, wrap_words(line.substr(head.size()), indent, columns));
  }
  return out;
}

}  // namespace weft
