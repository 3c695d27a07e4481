// trainer/inference/pair_blocks.h: packs pairs in order into blocks of one shape, for scoring and alignment.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "data/batch.h"
#include "data/corpus.h"
#include "model/transformer.h"

namespace weft {

struct PairBlocks {
  std::vector<Block> blocks;
  std::vector<size_t> first;  // index of each block's first pair
};

// Returns the rows of a block on each side: 1024, or the number of the model's positions if it is smaller.
int64_t pair_block_rows(const Transformer& model);

// Throws an Error of kind data that names the index of a pair with more than rows - 1 tokens on a side.
PairBlocks pack_in_order(const std::vector<PairIds>& pairs, int64_t rows);
// Does the same for blocks with a different number of rows per side. REQUIRES: each pair fits into a block.
PairBlocks pack_in_order(const std::vector<PairIds>& pairs, int64_t source_rows, int64_t target_rows);

// Returns one pair that fills a block, for dry runs.
Block fullest_block(int64_t rows);

}  // namespace weft
