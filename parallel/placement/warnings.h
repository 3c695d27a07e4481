// parallel/placement/warnings.h: warns of what will slow the ranks of a run down.
#pragma once

#include <string>
#include <vector>

#include "parallel/placement/rank_place.h"

namespace weft {

// Returns one line per warning, however many ranks and hosts it concerns. REQUIRES: `hosts` are the hosts of `ranks`.
std::vector<std::string> placement_warnings(const std::vector<RankPlace>& ranks, const std::vector<PlacedHost>& hosts,
                                            const NetworkChoice& choice);

}  // namespace weft
