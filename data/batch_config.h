// data/batch_config.h: declares the options that set the size and order of blocks and steps.
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

  int64_t longest_row() const { return std::max(rows, source_rows); }  // the larger number of rows of the two sides
  int64_t blocks_of_step() const { return tokens > 0 ? std::max<int64_t>(1, (tokens + rows / 2) / rows) : blocks; }

  template <typename V>
  void fields(V& v) {
    v("rows", rows, "target rows (tokens) per block, the unit of work; cannot change during a run", OnResume::order);
    v("source_rows", source_rows, "source rows per block; 0 = rows * source length / target length", OnResume::order);
    v("blocks", blocks, "blocks per optimizer step, divided among the data-parallel ranks", OnResume::retrains);
    v("tokens", tokens, "target tokens per optimizer step; sets the number of blocks; 0 = use batch.blocks");
    v("look_ahead", look_ahead, "number of upcoming pairs among which a block chooses its next pair", OnResume::order);
    v("page", page, "pairs per page; pages are shuffled first, then pairs within a window of pages", OnResume::order);
    v("window", window, "number of pages whose pairs are shuffled together, divided among the blocks of a step",
      OnResume::order);
  }
};

// Sets `blocks` from `tokens` unless `tokens` is 0. Throws a usage Error that names the option if a value is out of
// range. REQUIRES: source_rows has been set.
void resolve_blocks(BatchConfig& config);

}  // namespace weft
