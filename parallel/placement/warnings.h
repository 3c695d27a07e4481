// parallel/placement/warnings.h: warns of placements that slow down the ranks of a run.
#pragma once

#include <string>
#include <vector>

#include "parallel/placement/rank_place.h"

namespace weft {

// Returns one line per warning, even if it concerns many ranks and hosts. REQUIRES: `hosts` are the hosts of `ranks`.
std::vector<std::string> placement_warnings(const std::vector<RankPlace>& ranks, const std::vector<PlacedHost>& hosts,
                                            const NetworkChoice& choice);

}  // namespace weft
