// data/noise/letter_case.h: converts text to upper case and title case. (lower_case() is in data/text/unicode.h.)
//
// The mappings are those of Python's str.upper ("ß" becomes "SS") and, for the first character of a word in title case,
// of its str.title ("Ss"), for all languages. Bytes that are not UTF-8 stay unchanged.
#pragma once

#include <string>
#include <string_view>

namespace weft {

std::string upper_case(std::string_view text);
// Converts text to lower case, except each word's first character that is not punctuation, which becomes title case.
std::string title_case(std::string_view text);

}  // namespace weft
