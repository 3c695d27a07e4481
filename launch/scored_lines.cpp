// launch/scored_lines.cpp: plain text by getline, gzip through TextReader.
#include "launch/scored_lines.h"

#include <fmt/format.h>

#include <fstream>

#include "data/text_reader.h"
#include "tensor/error.h"
#include "trainer/metrics/unicode.h"

namespace weft {
namespace {

constexpr int kGzipStart = 0x1f;  // no text begins with this control character

}  // namespace

std::vector<std::string> read_scored_lines(std::istream& in, const std::string& name) {
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) {
    if (const auto bad = first_invalid_utf8(line))
      fail(ErrorKind::data,
           fmt::format("{}:{}: byte {} is not UTF-8; convert the file with iconv", name, lines.size() + 1, *bad + 1));
    lines.emplace_back(trim_right(line));
  }
  if (in.bad()) fail(ErrorKind::io, fmt::format("{}: cannot be read to its end", name));
  return lines;
}

std::vector<std::string> read_scored_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  const int first = in.peek();
  if (first == std::char_traits<char>::eof())
    fail(ErrorKind::data, fmt::format("{}: {}", path, in.is_open() ? "is empty or a folder" : "cannot be opened"));
  if (first != kGzipStart) return read_scored_lines(in, path);
  std::vector<std::string> lines;
  TextReader reader(path);
  for (std::string line; reader.next(line);) lines.emplace_back(trim_right(line));
  if (lines.empty()) fail(ErrorKind::data, fmt::format("{}: is empty", path));
  return lines;
}

}  // namespace weft
