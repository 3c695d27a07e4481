// trainer/inference/pair_blocks.h: given pairs in blocks of one shape, in order, for scoring and alignment.
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

// Rows of a block on each side: 1024, or the model's positions if these are fewer.
int64_t pair_block_rows(const Transformer& model);

// A pair with more than rows - 1 tokens on a side is an Error of kind data that names its index.
PairBlocks pack_in_order(const std::vector<PairIds>& pairs, int64_t rows);
// The same for blocks of other rows on the source side; the pairs fit.
PairBlocks pack_in_order(const std::vector<PairIds>& pairs, int64_t source_rows, int64_t target_rows);

// One pair that fills a block, for dry runs.
Block fullest_block(int64_t rows);

}  // namespace weft
