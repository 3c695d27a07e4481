// data/batch_config.h: the options of a block and of a step.
#pragma once

#include <algorithm>
#include <cstdint>

#include "tensor/on_resume.h"

namespace weft {

struct BatchConfig {
  int64_t rows = 2048;
  int64_t source_rows = 0;
  int64_t blocks = 2;
  int64_t tokens = 0;
  int64_t look_ahead = 64;
  int64_t page = 256;
  int64_t window = 64;

  int64_t longest_row() const { return std::max(rows, source_rows); }  // on either side of a block
  int64_t blocks_of_step() const { return tokens > 0 ? std::max<int64_t>(1, (tokens + rows / 2) / rows) : blocks; }

  template <typename V>
  void fields(V& v) {
    v("rows", rows, "target rows per block, the unit of work; fixed for the run", OnResume::order);
    v("source_rows", source_rows, "source rows per block; 0 = rows times the corpus's length ratio", OnResume::order);
    v("blocks", blocks, "blocks per optimizer step, divided among the dp ranks", OnResume::retrains);
    v("tokens", tokens,
      "target tokens per optimizer step, from which the number of blocks is computed; 0 = use blocks");
    v("look_ahead", look_ahead, "pairs to choose from when filling a block", OnResume::order);
    v("page", page, "consecutive pairs per page; pages are shuffled as units", OnResume::order);
    v("window", window, "number of pages whose pairs are shuffled together, in total for all blocks of a step",
      OnResume::order);
  }
};

// Sets `blocks` from `tokens`, if given. Throws a usage Error that names an option if its value is out of range.
// REQUIRES: source_rows is known.
void resolve_blocks(BatchConfig& config);

}  // namespace weft
