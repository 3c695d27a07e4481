// launch/reports/scored_lines.h: the lines that scores are computed from, read by the rules of the field's tools.
//
// A line ends at LF alone: a carriage return is white space, U+2028 and a byte order mark are characters; the last line
// may lack its end. White space at the right (Unicode's) is cut off. Plain or gzip, file, pipe or standard input are
// read alike. What is no text is an Error (data/text/text_line.h).
#pragma once

#include <string>
#include <vector>

namespace weft {

inline constexpr const char* kStandardInput = "-";

std::vector<std::string> read_scored_file(const std::string& path);  // an empty file is an Error

}  // namespace weft
