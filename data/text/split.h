// data/text/split.h: splits text at separators.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace weft {

// Returns at least one part. Parts may be empty, and are views into `text`.
std::vector<std::string_view> split(std::string_view text, char separator);
std::vector<std::string_view> split_lines(std::string_view text);  // the last line may lack its line end
std::vector<std::string> split_at_commas(std::string_view text);   // removes white space around the parts

// Returns the position of the colon in "FOLDER:VALUE", or npos. A colon before a slash belongs to the folder's name.
size_t find_colon_after_folder(std::string_view text);

}  // namespace weft
