// data/text/gzip.h: gzip data in memory. (data/text/text_reader.h reads files of any size line by line.)
#pragma once

#include <string>
#include <string_view>

namespace weft {

bool is_gzip(std::string_view bytes);  // by its first two bytes, with which no UTF-8 text begins

// One member or several, one behind the other. An Error of kind data says that `name` is damaged or cut off.
std::string gunzip(std::string_view packed, const std::string& name);

}  // namespace weft
