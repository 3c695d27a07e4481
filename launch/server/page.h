// launch/server/page.h: the page of `weft serve`, one file without outside references.
#pragma once

#include <string_view>

namespace weft {

std::string_view serve_page();  // from the files of launch/server/page, which the program contains

}  // namespace weft
