// trainer/config/nearest.h: suggests the right name for a misspelled one ("did you mean ...?").
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace weft {

int edit_distance(std::string_view a, std::string_view b);  // Levenshtein: insertions, deletions, substitutions

// Returns the candidate with the smallest distance, or "" if `name` is probably not a misspelling of any candidate.
std::string nearest_name(std::string_view name, const std::vector<std::string>& candidates);

}  // namespace weft
