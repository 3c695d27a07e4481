// tests/support/synthetic_lengths.h: sentence lengths with a distribution like that of a real corpus.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "data/order/mix_plan.h"
#include "tensor/random.h"

namespace weft::testing {

// Source: 1 plus three throws of 0..8; target: within 5 of the source.
inline PairLength synthetic_length(int64_t pair, uint64_t seed) {
  const auto index = static_cast<uint64_t>(pair);
  const PhiloxBits source = philox(seed, index, 0, 0), change = philox(seed, index, 1, 0);
  const auto length = static_cast<int32_t>(1 + source.v[0] % 9 + source.v[1] % 9 + source.v[2] % 9);
  return {length, std::max(1, length + static_cast<int32_t>(change.v[0] % 6 + change.v[1] % 6) - 5)};
}

inline std::vector<PairLength> synthetic_lengths(int64_t num_pairs, uint64_t seed) {
  std::vector<PairLength> lengths;
  for (int64_t i = 0; i < num_pairs; ++i) lengths.push_back(synthetic_length(i, seed));
  return lengths;
}

inline LengthSource source_of(std::vector<PairLength> lengths) {
  return [lengths = std::move(lengths)](int64_t /*epoch*/, int64_t first, int64_t count, std::vector<PairLength>& out) {
    out.assign(lengths.begin() + first, lengths.begin() + first + count);
  };
}

inline std::vector<MixSource> only(int64_t num_pairs, LengthSource lengths) {  // a mix of one corpus
  return {{.corpus = {.folder = "the corpus", .num_pairs = num_pairs, .num_usable = num_pairs},
           .lengths = std::move(lengths)}};
}

inline std::vector<int64_t> numbers_of(const PlannedBlock& block) {  // of its pairs
  std::vector<int64_t> numbers;
  for (const EpochPair& pair : block.pairs) numbers.push_back(pair.pair);
  return numbers;
}

}  // namespace weft::testing
