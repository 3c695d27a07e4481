// tensor/op/sorted_ids.h: sorts ids on the host, for ops::SortedIds.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace weft::ops {

// Returns the ids in ascending order, followed by the row of each id; rows of equal ids ascend. The time is linear in
// the number and the range of ids.
inline std::vector<int32_t> sort_ids(const std::vector<int32_t>& ids) {
  const int32_t least = ids.empty() ? 0 : *std::min_element(ids.begin(), ids.end());
  const int32_t most = ids.empty() ? 0 : *std::max_element(ids.begin(), ids.end());
  std::vector<size_t> places(static_cast<size_t>(int64_t{most} - least) + 2);  // the place of each id's next row
  for (const int32_t id : ids) ++places[static_cast<size_t>(id - least) + 1];
  for (size_t i = 1; i < places.size(); ++i) places[i] += places[i - 1];
  std::vector<int32_t> sorted(2 * ids.size());
  for (size_t row = 0; row < ids.size(); ++row) {
    const size_t place = places[static_cast<size_t>(ids[row] - least)]++;
    sorted[place] = ids[row], sorted[ids.size() + place] = static_cast<int32_t>(row);
  }
  return sorted;
}

}  // namespace weft::ops
