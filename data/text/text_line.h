// data/text/text_line.h: what a line of text must be, for every command that reads text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace weft {

// An Error of kind data unless the line is UTF-8 without NUL bytes. It names the text (a file's path or "standard
// input"), the line's number, counted from 1, the byte, and what to do.
void require_text(std::string_view line, const std::string& name, int64_t number);

}  // namespace weft
