// launch/reports/run_page/files.h: the files in this folder as text in the program.
#pragma once

#include <string_view>

namespace weft {

extern const std::string_view kPageFrame;  // page.html, with %TITLE%, %STYLE%, %DATA% and %SCRIPT%
extern const std::string_view kPageStyle, kPageScript;

}  // namespace weft
