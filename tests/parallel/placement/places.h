// tests/parallel/placement/places.h: places of made-up ranks, and what is reported of them.
#pragma once

#include <fmt/format.h>

#include <string>
#include <vector>

#include "parallel/placement/report.h"

namespace weft::testing {

// `hosts` hosts of two NUMA nodes with 16 cores and `ranks` ranks each, bound by Weft.
inline std::vector<RankPlace> on_two_nodes(int hosts, int ranks, bool gpus = false) {
  std::vector<RankPlace> all;
  for (int h = 0; h < hosts; ++h)
    for (int r = 0; r < ranks; ++r) {
      const int node = 2 * r / ranks;
      RankPlace place{.host = fmt::format("node{}", h),
                      .cores = cores_from_text(node == 0 ? "0-15" : "16-31"),
                      .threads = 32 / ranks,
                      .nodes = {node},
                      .nodes_of_host = 2,
                      .bound = true};
      if (gpus) place.gpu = r, place.gpu_node = node;
      all.push_back(place);
    }
  return all;
}

inline PlacementReport report_of(const std::vector<RankPlace>& ranks) { return describe_placement(ranks, {}); }

}  // namespace weft::testing
