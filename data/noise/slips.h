// data/noise/slips.h: makes slips in a text: one punctuation mark or space too few or too many.
//
// Each function makes one change, if the text allows it. The result is a pure function of the text and of its place.
// Philox: key = seed; counter = {pair, visit, purpose_of("punctuation") or purpose_of("words")}.
#pragma once

#include <string>
#include <string_view>

#include "data/noise/noise.h"

namespace weft {

// Leaves out one character of category P, or writes it twice. Both changes and all such characters are equally likely.
std::string with_punctuation_slip(std::string_view text, const NoisePlace& place);

// Leaves out the white space between two words, or divides a word of two or more characters by a space. Both changes
// are equally likely, and the place is drawn uniformly. If the text allows only one of the changes, makes that one.
std::string with_word_slip(std::string_view text, const NoisePlace& place);

}  // namespace weft
