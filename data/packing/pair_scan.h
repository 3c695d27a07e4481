// data/packing/pair_scan.h: the first pass over a parallel text: checks all text and counts pairs.
#pragma once

#include <cstdint>
#include <functional>

#include "data/packing/pair_text.h"

namespace weft {

// Reads everything and returns the number of pairs, at least 1. Throws PairText's Errors. visit(pair) is called for
// each pair, and done(bytes so far, bytes of all files) from time to time.
int64_t scan_pairs(const PairFiles& files, const std::function<void(const TextPair&)>& visit,
                   const std::function<void(int64_t, int64_t)>& done);

}  // namespace weft
