// data/text/split.cpp: finds separators.
#include "data/text/split.h"

#include "data/text/unicode.h"

namespace weft {

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (size_t end = 0; (end = text.find(separator)) != std::string_view::npos; text.remove_prefix(end + 1))
    parts.push_back(text.substr(0, end));
  parts.push_back(text);
  return parts;
}

std::vector<std::string_view> split_lines(std::string_view text) {
  std::vector<std::string_view> lines = split(text, '\n');
  if (lines.back().empty()) lines.pop_back();
  return lines;
}

std::vector<std::string> split_at_commas(std::string_view text) {
  std::vector<std::string> parts;
  for (const std::string_view part : split(text, ',')) parts.emplace_back(trim(part));
  return parts;
}

size_t find_colon_after_folder(std::string_view text) {
  const size_t last = text.find_last_of(":/");
  return last != std::string_view::npos && text[last] == ':' ? last : std::string_view::npos;
}

}  // namespace weft
