// trainer/inference/pair_blocks.h: packs pairs, in order, into blocks of equal shape for scoring and alignment.
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

// Returns the number of rows per side of a block: 1024, or model.max_positions() if that is smaller.
int64_t pair_block_rows(const Transformer& model);

// Throws an Error of kind data that names the index of a pair if one side has more than rows - 1 tokens.
PairBlocks pack_in_order(const std::vector<PairIds>& pairs, int64_t rows);
// Packs pairs into blocks whose two sides may have different numbers of rows. REQUIRES: each pair fits into a block.
PairBlocks pack_in_order(const std::vector<PairIds>& pairs, int64_t source_rows, int64_t target_rows);

// Returns a block that a single pair fills, for dry runs.
Block fullest_block(int64_t rows);

}  // namespace weft
