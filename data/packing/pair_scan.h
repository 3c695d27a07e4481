// data/packing/pair_scan.h: the first pass over a parallel text: checks it, counts pairs, and samples lines
// for the tokenizer.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "data/packing/train_tokenizer.h"

namespace weft {

// Reads both files to the end and returns the number of pairs. Throws TextReader's Errors, and one with both
// numbers if the numbers of lines differ. Lines go to the given samplers. done(bytes so far, bytes of both
// files) is called now and then.
int64_t scan_pairs(const std::string& source, const std::string& target, LineSampler* source_lines,
                   LineSampler* target_lines, const std::function<void(int64_t, int64_t)>& done);

}  // namespace weft
