// trainer/display/wrap.h: breaks text between words.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace weft {

// Breaks `text` at spaces into lines of at most `columns` characters. The first line is assumed to start at column
// `indent`; the following lines are indented by as many spaces. A word that is longer than a line is not broken.
std::string wrap_words(std::string_view text, size_t indent, size_t columns);

// Breaks each line of `text` in the same way, but never within the line's first `indent` characters.
std::string wrap_lines(std::string_view text, size_t indent, size_t columns);

}  // namespace weft
