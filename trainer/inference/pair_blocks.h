// trainer/inference/pair_blocks.h: given pairs in blocks of one shape, in their own order: for scoring and looking, not
// training.
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
  std::vector<size_t> first;  // number of each block's first pair
};

// Rows of a block of given pairs, of each side: 1024, or as many as the model has positions.
int64_t pair_block_rows(const Transformer& model);

// A pair with a side of more than rows - 1 pieces is an Error of kind data that names its number, from 0.
PairBlocks pack_in_order(const std::vector<PairIds>& pairs, int64_t rows);

// One pair that fills a block: what a dry run measures.
Block fullest_block(int64_t rows);

}  // namespace weft
