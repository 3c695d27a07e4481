// trainer/config/nearest.h: "did you mean ...?" for misspelt names.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace weft {

int edit_distance(std::string_view a, std::string_view b);  // Levenshtein: insertions, deletions, substitutions

// The candidate with the smallest distance, or "" if none is near enough to be a misspelling.
std::string nearest_name(std::string_view name, const std::vector<std::string>& candidates);

}  // namespace weft
