// trainer/display/wrap.h: text that breaks between words at the width of the terminal.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace weft {

// Returns the columns of the terminal that shows standard output or standard error, or else those of the environment
// variable COLUMNS, or else 110.
size_t output_columns();

// Breaks `text` at spaces into lines of at most `columns` characters. The first line is taken to start at column
// `indent`, and the others start with as many spaces. A word that is longer than a line is not broken.
std::string wrap_words(std::string_view text, size_t indent, size_t columns);

// Breaks each line of `text` in this way behind its first `indent` characters.
std::string wrap_lines(std::string_view text, size_t indent, size_t columns);

}  // namespace weft
