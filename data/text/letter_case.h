// data/text/letter_case.h: upper case and title case of Unicode text; lower_case() is in data/text/unicode.h.
//
// Mappings follow Python's str.upper ("ß" becomes "SS") in any context and language. Bytes that are not UTF-8 pass
// through.
#pragma once

#include <string>
#include <string_view>

namespace weft {

std::string upper_case(std::string_view text);
// Converts words (separated by white space) to lower case, but their first non-punctuation character to upper case.
std::string title_case(std::string_view text);

}  // namespace weft
