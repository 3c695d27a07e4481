// launch/reports/scored_lines.h: reads lines for scoring by the rules of sacreBLEU.
//
// Only LF ends a line. A carriage return is white space, but U+2028 and a byte order mark are characters. The last line
// needs no LF. Trailing Unicode white space is removed. Input is a file, a pipe or standard input, plain or compressed
// (gzip, zstd, xz). Anything that is not text is an Error (data/text/text_line.h).
#pragma once

#include <string>
#include <vector>

namespace weft {

inline constexpr const char* kStandardInput = "-";

std::vector<std::string> read_scored_file(const std::string& path);  // an empty file is an Error

}  // namespace weft
