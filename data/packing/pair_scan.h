// data/packing/pair_scan.h: makes the first pass over a parallel text, which checks all text and counts the pairs.
#pragma once

#include <cstdint>
#include <functional>

#include "data/packing/pair_text.h"

namespace weft {

// Reads all pairs and returns their number. Throws PairText's Errors, and a data Error for an empty text. Calls
// visit(pair) for each pair, and done(bytes so far, bytes of all files) from time to time.
int64_t scan_pairs(const PairFiles& files, const std::function<void(const TextPair&)>& visit,
                   const std::function<void(int64_t, int64_t)>& done);

}  // namespace weft
