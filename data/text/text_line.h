// data/text/text_line.h: checks a line of text, for every command that reads text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tensor/error.h"

namespace weft {

class BadLine : public Error {  // of kind data; a reader can continue with the next line
  using Error::Error;
};

// Throws a BadLine unless the line is UTF-8 without NUL bytes. The message contains `name` (a file's path or
// "standard input"), the line number (from 1), the byte, and a remedy.
void require_text(std::string_view line, const std::string& name, int64_t number);

}  // namespace weft
