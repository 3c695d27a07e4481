// trainer/display/wrap.cpp: breaks lines, counting UTF-8 characters.
#include "trainer/display/wrap.h"

#include <fmt/format.h>

#include <algorithm>

#include "data/text/split.h"

namespace weft {
namespace {

size_t num_characters(std::string_view text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

}  // namespace

std::string wrap_words(std::string_view text, size_t indent, size_t columns) {
  std::string out;
  size_t column = indent;
  while (!text.empty()) {
    size_t end = std::min(text.find(' '), text.size());
    if (text.substr(end).starts_with(" %")) end = std::min(text.find(' ', end + 1), text.size());  // keeps "5 %"
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const size_t width = num_characters(word);
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
