// launch/reports/shown_line.h: makes a line of any text safe to print.
#pragma once

#include <string>
#include <string_view>

#include "data/text/unicode.h"

namespace weft {

// Replaces control characters and line breaks with spaces, because a terminal would execute them.
inline std::string shown_line(std::string_view text) {
  std::string line;
  for (size_t i = 0; i < text.size();) {
    const CodePoint c = code_point_at(text, i);
    append_utf8(line, is_control_or_line_break(c.value) ? U' ' : c.value);
    i += static_cast<size_t>(c.num_bytes);
  }
  return line;
}

}  // namespace weft
