// tests/support/sequence_ranges.h: the rows of sentences with everything that attention reads on a GPU.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "tensor/op/attention_pieces.h"
#include "tensor/ops.h"

namespace weft::testing {

using SentenceRows = std::vector<std::pair<int32_t, int32_t>>;  // the first row of each, and one past its last

// Returns the ranges of queries among `rows` rows whose attention reads `keys`. `ints` makes a tensor of integers.
ops::SequenceRanges sequence_ranges(const SentenceRows& queries, int64_t rows, const SentenceRows& keys,
                                    const auto& ints) {
  std::vector<int32_t> begin, end, of_row(static_cast<size_t>(rows), -1);
  for (const auto& [b, e] : queries) {
    std::fill(of_row.begin() + b, of_row.begin() + e, static_cast<int32_t>(begin.size()));
    begin.push_back(b), end.push_back(e);
  }
  const auto lengths = [](const SentenceRows& all) {
    std::vector<int32_t> of;
    for (const auto& [b, e] : all) of.push_back(e - b);
    return of;
  };
  return {.begin = ints(begin),
          .end = ints(end),
          .of_row = ints(of_row),
          .pieces = ints(ops::attention_pieces(lengths(queries), lengths(keys)))};
}

}  // namespace weft::testing
