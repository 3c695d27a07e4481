// trainer/inference/pair_blocks.cpp: fills each block with consecutive pairs until the next pair does not fit.
#include "trainer/inference/pair_blocks.h"

#include <algorithm>

#include "tensor/error.h"

namespace weft {
namespace {

constexpr int64_t kRows = 1024;

}  // namespace

int64_t pair_block_rows(const Transformer& model) { return std::min(kRows, model.max_positions()); }

PairBlocks pack_in_order(const std::vector<PairIds>& pairs, int64_t rows) {
  for (size_t i = 0; i < pairs.size(); ++i)
    if (std::ssize(pairs[i].source) >= rows || std::ssize(pairs[i].target) >= rows)
      fail(ErrorKind::data, fmt::format("pair {} has {} source and {} target tokens, but the maximum per side is {}", i,
                                        pairs[i].source.size(), pairs[i].target.size(), rows - 1));
  return pack_in_order(pairs, rows, rows);
}

PairBlocks pack_in_order(const std::vector<PairIds>& pairs, int64_t source_rows, int64_t target_rows) {
  PairBlocks packed;
  BlockBuilder builder(source_rows, target_rows);
  int64_t source = 0, target = 0;
  const auto close = [&] { packed.blocks.push_back(builder.finish(static_cast<int64_t>(packed.blocks.size()))); };
  for (size_t i = 0; i < pairs.size(); ++i) {
    const int64_t s = static_cast<int64_t>(pairs[i].source.size()) + 1;
    const int64_t t = static_cast<int64_t>(pairs[i].target.size()) + 1;
    const bool is_full = source + s > source_rows || target + t > target_rows;
    if (i > 0 && is_full) close();
    if (i == 0 || is_full) {
      packed.first.push_back(i);
      source = target = 0;
    }
    source += s;
    target += t;
    builder.add(pairs[i].source, pairs[i].target);
  }
  if (!pairs.empty()) close();
  return packed;
}

Block fullest_block(int64_t rows) {
  const std::vector<int32_t> ids(static_cast<size_t>(rows - 1), SpecialIds::unk);
  BlockBuilder builder(rows, rows);
  builder.add(ids, ids);
  return builder.finish(0);
}

}  // namespace weft
