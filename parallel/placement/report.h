// parallel/placement/report.h: reports the placement of any number of ranks, and its problems, in a few lines.
#pragma once

#include <string>
#include <vector>

#include "parallel/placement/rank_place.h"

namespace weft {

struct PlacementReport {
  std::string placement;              // one line, longer only where hosts differ; empty: nothing to report
  std::string network;                // one line; empty on a single host
  std::string others;                 // describe_others() of other_programs.h; not set by describe_placement()
  std::vector<std::string> warnings;  // one line each
};

// REQUIRES: `ranks` contains all ranks, in rank order.
PlacementReport describe_placement(const std::vector<RankPlace>& ranks, const NetworkChoice& choice);

}  // namespace weft
