// data/noise/slips.h: slips of the pen: a mark of punctuation or a space too few or too many.
//
// Each makes one change where the text has a place for it. The result is a pure function of the text and of its place.
// Philox: key = seed; counter = {pair, visit, purpose_of("punctuation") or purpose_of("words")}.
#pragma once

#include <string>
#include <string_view>

#include "data/noise/noise.h"

namespace weft {

// One character of category P, each equally likely, is left out or written twice, equally likely.
std::string with_punctuation_slip(std::string_view text, const NoisePlace& place);

// The white space between two words is left out, or a word of two or more characters is divided by a space: equally
// likely, at a place that is drawn evenly. If the text has no place for one, it is the other.
std::string with_word_slip(std::string_view text, const NoisePlace& place);

}  // namespace weft
