// trainer/config/nearest.h: suggests names for misspelled ones ("did you mean ...?").
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace weft {

int edit_distance(std::string_view a, std::string_view b);  // Levenshtein: insertions, deletions, substitutions

// Returns the candidate with the smallest distance, or "" if `name` is not likely to be a misspelling of any.
std::string nearest_name(std::string_view name, const std::vector<std::string>& candidates);

}  // namespace weft
