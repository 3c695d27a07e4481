// data/packing/pair_scan.h: the first reading of a parallel text: is it sound, how many pairs, and a sample for the
// tokenizer.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "data/packing/train_tokenizer.h"

namespace weft {

// Reads both files to their ends and returns the number of pairs. Errors are those of TextReader, and one with both
// numbers if the numbers of lines differ. Lines go to the samplers, where given. done(bytes so far, bytes of both
// files) is called now and then.
int64_t scan_pairs(const std::string& source, const std::string& target, LineSampler* source_lines,
                   LineSampler* target_lines, const std::function<void(int64_t, int64_t)>& done);

}  // namespace weft
