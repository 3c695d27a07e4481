// data/noise/inline_marks.h: emoji and inline markup in both sides of a pair, which a model so learns to copy.
//
// A mark stands at the same place of both sides: at the start, at the end, or at a word that is the same there, such
// as a name. Such a word is once in each side, and has a digit or an upper-case letter.
#pragma once

#include <string>

#include "data/noise/noise.h"

namespace weft {

struct MarkRates {
  double emoji = 0, markup = 0;  // the share of pairs
  bool any() const { return emoji > 0 || markup > 0; }
};

// "emoji=0.05,markup=0.05"; "": none. A usage Error of one line names `option` and what is wrong.
MarkRates parse_mark_rates(const std::string& option, const std::string& text);

// A pure function of the sides and of the place. An emoji stands between words; an element encloses a side or a word,
// as <b>word</b> or <g id="3">word</g>; an empty one, <br/> or <x id="3"/>, stands as an emoji does. Philox: key =
// seed; counter = {pair, visit, purpose_of("emoji") or purpose_of("markup")}; its words choose whether, which, the
// place and the id.
void insert_marks(const MarkRates& rates, const NoisePlace& place, std::string& source, std::string& target);

}  // namespace weft
