// parallel/placement/warnings.h: what will slow the ranks of a run down.
#pragma once

#include <string>
#include <vector>

#include "parallel/placement/rank_place.h"

namespace weft {

// One line each, however many ranks and hosts it concerns. `hosts`: those of `ranks`.
std::vector<std::string> placement_warnings(const std::vector<RankPlace>& ranks, const std::vector<PlacedHost>& hosts,
                                            const NetworkChoice& choice);

}  // namespace weft
