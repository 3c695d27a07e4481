// model/device_batch.cpp: a block's ids, positions and offsets on the device.
#include "model/device_batch.h"

#include <algorithm>

namespace weft {
namespace {

// The sentence of each row, -1: none, and then the offsets: one upload. With fixed shapes there are `most` sentences;
// the last ones are empty.
SequenceRanges load_ranges(Pass& p, std::vector<int32_t> offsets, int64_t rows, int64_t most) {
  if (p.fixed_shapes) offsets.resize(static_cast<size_t>(most) + 1, offsets.back());
  const auto sentences = static_cast<int64_t>(offsets.size()) - 1;
  std::vector<int32_t> values(static_cast<size_t>(rows), -1);
  for (int32_t i = 0; i < sentences; ++i) std::fill(values.begin() + offsets[i], values.begin() + offsets[i + 1], i);
  values.insert(values.end(), offsets.begin(), offsets.end());
  const Tensor t = upload(p, values, 2 * rows + 1);
  return {.begin = t.slice_rows(rows, sentences),
          .end = t.slice_rows(rows + 1, sentences),
          .of_row = t.slice_rows(0, rows)};
}

}  // namespace

DeviceBatch load_batch(Pass& p, const Block& block) {
  const int64_t S = static_cast<int64_t>(block.source.size()), T = static_cast<int64_t>(block.target_in.size());
  p.arena.reset();
  DeviceBatch batch;
  batch.source.ids = upload(p, block.source);
  batch.target.ids = upload(p, block.target_in);
  batch.labels = upload(p, block.target_out);
  batch.source.rows = load_ranges(p, block.source_offsets, S, std::min(S, T));
  batch.target.rows = load_ranges(p, block.target_offsets, T, std::min(S, T));
  batch.source.positions = upload(p, block.source_positions);
  batch.target.positions = upload(p, block.target_positions);
  return batch;
}

}  // namespace weft
