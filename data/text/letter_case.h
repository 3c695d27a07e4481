// data/text/letter_case.h: upper case and title case of Unicode text; lower_case() is in data/text/unicode.h.
//
// Mappings are Python's (str.upper): a character may become several, as in "ß" to "SS". They have no context and no
// language. Bytes that are not UTF-8 pass through.
#pragma once

#include <string>
#include <string_view>

namespace weft {

std::string upper_case(std::string_view text);
// Converts each word to lower case except its first character that is not punctuation. Words end at white space.
std::string title_case(std::string_view text);

}  // namespace weft
