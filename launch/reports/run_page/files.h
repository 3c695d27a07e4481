// launch/reports/run_page/files.h: declares the files of this folder as text that the program contains.
#pragma once

#include <string_view>

namespace weft {

extern const std::string_view kPageFrame;  // page.html, with %TITLE%, %STYLE%, %DATA% and %SCRIPT%
extern const std::string_view kPageStyle, kPageScript;

}  // namespace weft
