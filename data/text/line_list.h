// data/text/line_list.h: reads a list of lines to leave out of a corpus: a number per line, counted from 1, which may
// be followed by a tab and the reason. A line "# N pairs" says of how many pairs the text consists.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_set>

namespace weft {

struct LineList {
  std::unordered_set<int64_t> numbers;  // counted from 0
  int64_t num_pairs = 0;                // of the text; 0 if the list does not say it
};

LineList read_line_list(const std::string& path);  // throws a data Error that names the file and the line

// Throws a data Error if the list is for a text with another number of pairs.
void require_list_of(const std::string& path, int64_t num_pairs);

std::string size_of_text(int64_t num_pairs);  // the line "# N pairs"

}  // namespace weft
