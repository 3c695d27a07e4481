// launch/reports/scored_lines.cpp: reads the whole text into memory and splits it into lines.
#include "launch/reports/scored_lines.h"

#include <fmt/format.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>

#include "data/text/compression.h"
#include "data/text/split.h"
#include "data/text/text_line.h"
#include "data/text/unicode.h"
#include "tensor/error.h"

namespace weft {
namespace {

std::string read_all(std::istream& in, const std::string& name) {
  std::ostringstream text;
  if (in.peek() != std::char_traits<char>::eof()) text << in.rdbuf();
  if (in.bad() || !text || (&in == &std::cin && std::ferror(stdin)))  // std::cin treats an error of stdin as its end
    fail(ErrorKind::io, fmt::format("{} cannot be read to its end", name));
  return unpacked(std::move(text).str(), name);
}

std::string text_of(const std::string& path, const std::string& name) {
  if (path == kStandardInput) return read_all(std::cin, name);
  if (std::filesystem::is_directory(path)) fail(ErrorKind::data, fmt::format("{} is a folder", path));
  std::ifstream in(path, std::ios::binary);
  if (!in) fail(ErrorKind::data, fmt::format("{} cannot be opened: {}", path, std::strerror(errno)));
  return read_all(in, name);
}

}  // namespace

std::vector<std::string> read_scored_file(const std::string& path) {
  const std::string name = path == kStandardInput ? "standard input" : path;
  const std::string text = text_of(path, name);
  if (text.empty()) fail(ErrorKind::data, fmt::format("{} is empty", name));
  std::vector<std::string> lines;
  for (const std::string_view line : split_lines(text)) {
    require_text(line, name, std::ssize(lines) + 1);
    lines.emplace_back(trim_right(line));
  }
  return lines;
}

}  // namespace weft
