// launch/reports/scored_lines.h: reads lines for scoring by sacreBLEU's rules.
//
// Only LF ends a line: a carriage return is white space, U+2028 and a byte order mark are characters; the
// last line may lack its LF. Trailing white space (Unicode's) is removed. Input may be plain or packed (gzip,
// zstd, xz), a file, a pipe or standard input. Anything that is not text is an Error (data/text/text_line.h).
#pragma once

#include <string>
#include <vector>

namespace weft {

inline constexpr const char* kStandardInput = "-";

std::vector<std::string> read_scored_file(const std::string& path);  // an empty file is an Error

}  // namespace weft
