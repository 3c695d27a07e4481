// data/text/invisible.h: removes characters that a reader cannot see, so that they never change a translation.
//
// Invisible are Unicode's Default_Ignorable_Code_Point (soft hyphens, zero-width spaces and joiners, word joiners,
// directional controls, variation selectors, fillers, tag characters) and U+2800. These are visible in their effect and
// are therefore kept: joiners and Mongolian selectors after a letter or mark of a script that uses them; and within
// emoji, the joiner between two of them, U+FE0F, and the tag characters of a flag.
#pragma once

#include <string>
#include <string_view>

namespace weft {

bool has_invisible(std::string_view text);  // true if without_invisible() may change the text; fast for plain text
std::string without_invisible(std::string_view text);  // REQUIRES: valid UTF-8

}  // namespace weft
