// data/text/range_table.h: looks up a character in a sorted table of ranges (unicode_tables.h and its neighbors).
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>

namespace weft {

// Returns the range that contains c, or the end.
template <typename R, size_t N>
const R* range_of(const R (&table)[N], char32_t c) {
  const R* after = std::upper_bound(std::begin(table), std::end(table), c,
                                    [](char32_t value, const R& range) { return value < range.first; });
  if (after == std::begin(table) || c > std::prev(after)->last) return std::end(table);
  return std::prev(after);
}

template <typename R, size_t N>
bool contains(const R (&table)[N], char32_t c) {
  return range_of(table, c) != std::end(table);
}

}  // namespace weft
