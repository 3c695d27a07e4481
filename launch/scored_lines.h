// launch/scored_lines.h: the lines that scores are computed from, read by the rules of the field's tools.
//
// A line ends at LF alone: a carriage return is white space, U+2028 a character; the last line may lack its end. White
// space at the right (Unicode's) is cut off. A file may be a pipe, or gzip (data/text_reader.h reads it, which skips a
// byte order mark at its start; in plain text that is a character like any other). An Error of kind data names file and
// line of what is not UTF-8.
#pragma once

#include <istream>
#include <string>
#include <vector>

namespace weft {

std::vector<std::string> read_scored_lines(std::istream& in, const std::string& name);
std::vector<std::string> read_scored_file(const std::string& path);  // an empty file is an Error

}  // namespace weft
