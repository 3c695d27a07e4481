// parallel/placement/report.h: what each rank of a run got, in a few lines however many ranks there are, and what is
// bad about it.
#pragma once

#include <string>
#include <vector>

#include "parallel/placement/rank_place.h"

namespace weft {

struct PlacementReport {
  std::string placement;              // one line, longer only where hosts differ; empty: nothing to tell
  std::string network;                // one line; empty on a single host
  std::vector<std::string> warnings;  // one line each
};

// `ranks`: of all ranks, in rank order.
PlacementReport describe_placement(const std::vector<RankPlace>& ranks, const NetworkChoice& choice);

}  // namespace weft
