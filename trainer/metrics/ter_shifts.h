// trainer/metrics/ter_shifts.h: Tercom's greedy search for moved runs of words: the edits between two sentences.
//
// Finding the fewest edits with moves is too hard; the score is defined by this search and its limits, not by the
// optimum.
#pragma once

#include <cstdint>
#include <vector>

namespace weft {

int64_t translation_edits(std::vector<int> hypothesis, const std::vector<int>& reference);  // words as numbers

}  // namespace weft
