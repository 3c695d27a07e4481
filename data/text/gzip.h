// data/text/gzip.h: gzip data in memory. (data/text/text_reader.h reads files of any size line by line.)
#pragma once

#include <string>
#include <string_view>

namespace weft {

bool is_gzip(std::string_view bytes);  // by its first two bytes, which begin no UTF-8 text

// One or several consecutive members. A data Error says that `name` is damaged or cut off.
std::string gunzip(std::string_view packed, const std::string& name);

}  // namespace weft
