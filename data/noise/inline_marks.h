// data/noise/inline_marks.h: puts emoji and inline markup into both sides of a pair, so that a model copies them.
//
// A mark is put at the same place on both sides: at the start, at the end, or at a word that both sides share, such as
// a name. This word must occur once on each side, and contain a digit or an upper-case letter.
#pragma once

#include <string>

#include "data/noise/noise.h"

namespace weft {

struct MarkRates {
  double emoji = 0, markup = 0;  // shares of pairs
  bool any() const { return emoji > 0 || markup > 0; }
};

// Parses "emoji=0.05,markup=0.05"; "" means none. Throws a one-line usage Error that names `option` and what is wrong.
MarkRates parse_mark_rates(const std::string& option, const std::string& text);

// Changes the sides as a pure function of their text and of `place`. An emoji is put between words. An element encloses
// a side or a word, as in <b>word</b> or <g id="3">word</g>. An empty element, such as <br/> or <x id="3"/>, is put
// between words. Philox: key = seed; counter = {pair, visit, purpose_of("emoji") or purpose_of("markup")}; its words
// choose whether there is a mark, which one, its place and its id.
void insert_marks(const MarkRates& rates, const NoisePlace& place, std::string& source, std::string& target);

}  // namespace weft
