// trainer/metrics/ter_shifts.h: searches greedily for shifts of word runs, as Tercom does, and counts the edits.
//
// It is NP-hard to find the fewest edits if moves are allowed, so this search and its limits define the score.
#pragma once

#include <cstdint>
#include <vector>

namespace weft {

int64_t translation_edits(std::vector<int> hypothesis, const std::vector<int>& reference);  // words as numbers

}  // namespace weft
