// launch/reports/scored_lines.h: the lines that scores are computed from, read by the rules of the field's tools.
//
// A line ends at LF alone: a carriage return is white space, U+2028, a byte order mark and NUL are characters; the last
// line may lack its end. White space at the right (Unicode's) is cut off. Plain or gzip, file, pipe or standard input
// are read alike. An Error of kind data names file and line of what is not UTF-8.
#pragma once

#include <string>
#include <vector>

namespace weft {

inline constexpr const char* kStandardInput = "-";

std::vector<std::string> read_scored_file(const std::string& path);  // an empty file is an Error

}  // namespace weft
