// model/device_batch.cpp: uploads a block's ids, positions and offsets in one copy.
#include "model/device_batch.h"

#include <algorithm>
#include <bit>

#include "tensor/op/attention_pieces.h"
#include "tensor/op/sorted_ids.h"

namespace weft {
namespace {

// Collects vectors of integers or float bits in one array, at offsets that do not depend on the sentences.
class Parts {
 public:
  // Adds a vector with room for at least `capacity` values. upload_to() will make `to` a view of its device copy.
  void add(const std::vector<int32_t>& values, Tensor& to, size_t capacity = 0) {
    constexpr size_t kAligned = 64;  // values, or 256 bytes
    const size_t begin = all_.size(), end = begin + std::max(values.size(), capacity);
    parts_.push_back({&to, static_cast<int64_t>(begin), static_cast<int64_t>(values.size())});
    all_.insert(all_.end(), values.begin(), values.end());
    all_.resize((end + kAligned - 1) / kAligned * kAligned);
  }
  void upload_to(Pass& p) const {
    const Tensor t = upload(p, all_);
    for (const Part& part : parts_) *part.to = t.slice_rows(part.begin, part.size);
  }

 private:
  struct Part {
    Tensor* to;
    int64_t begin, size;
  };
  std::vector<Part> parts_;
  std::vector<int32_t> all_;
};

std::vector<int32_t> bits_of(const std::vector<float>& values) {
  std::vector<int32_t> bits;
  for (const float value : values) bits.push_back(std::bit_cast<int32_t>(value));
  return bits;
}

std::vector<int32_t> sentence_of_rows(const std::vector<int32_t>& offsets, size_t rows) {  // -1: unused row
  std::vector<int32_t> sentences(rows, -1);
  for (size_t i = 0; i + 1 < offsets.size(); ++i)
    std::fill(sentences.begin() + offsets[i], sentences.begin() + offsets[i + 1], static_cast<int32_t>(i));
  return sentences;
}

std::vector<int32_t> lengths_of(const std::vector<int32_t>& offsets) {
  std::vector<int32_t> lengths;
  for (size_t i = 0; i + 1 < offsets.size(); ++i) lengths.push_back(offsets[i + 1] - offsets[i]);
  return lengths;
}

// Replaces the values of unused rows by -1, so that these rows do not contribute to any sum.
std::vector<int32_t> of_used_rows(std::vector<int32_t> values, const std::vector<int32_t>& sentences) {
  for (size_t row = 0; row < values.size(); ++row)
    if (sentences[row] < 0) values[row] = -1;
  return values;
}

std::vector<int32_t> inputs_from(int32_t start_id, const Block& block) {
  std::vector<int32_t> ids = block.target_in;
  for (size_t i = 0; i + 1 < block.target_offsets.size(); ++i)
    ids[static_cast<size_t>(block.target_offsets[i])] = start_id;
  return ids;
}

}  // namespace

DeviceBatch load_batch(Pass& p, const Block& block, int32_t start_id) {
  DeviceBatch batch;
  Parts parts;
  // With fixed shapes, a batch contains the max number of sentences, of which the last are empty.
  const size_t most = std::min(block.source.size(), block.target_in.size());
  const auto add_side = [&](Sequences& side, const std::vector<int32_t>& ids, const std::vector<int32_t>& positions,
                            std::vector<int32_t> offsets, const std::vector<int32_t>& key_offsets) {
    const std::vector<int32_t> sentences = sentence_of_rows(offsets, ids.size());
    parts.add(ids, side.ids);
    parts.add(positions, side.positions);
    parts.add(sentences, side.rows.of_row);
    parts.add(ops::sort_ids(of_used_rows(ids, sentences)), side.by_id.ids);
    parts.add(ops::sort_ids(of_used_rows(positions, sentences)), side.by_position.ids);
    const int64_t most_pieces = ops::AttentionPieces::most(block.source.size() + block.target_in.size());
    parts.add(ops::attention_pieces(lengths_of(offsets), lengths_of(key_offsets)), side.rows.pieces,
              static_cast<size_t>((1 + most_pieces) * ops::AttentionPieces::kValues));
    if (p.fixed_shapes) offsets.resize(most + 1, offsets.back());
    parts.add(offsets, side.rows.begin, /*capacity=*/ids.size() + 1);
  };
  parts.add(block.target_out, batch.labels);
  if (!block.weights.empty()) parts.add(bits_of(block.weights), batch.weights);
  add_side(batch.source, block.source, block.source_positions, block.source_offsets, block.source_offsets);
  add_side(batch.target, inputs_from(start_id, block), block.target_positions, block.target_offsets,
           block.source_offsets);
  p.arena.reset();
  parts.upload_to(p);
  if (!block.weights.empty())
    batch.weights = Tensor(batch.weights.data, {batch.weights.numel()}, DType::f32, batch.weights.device);
  for (Sequences* side : {&batch.source, &batch.target}) {  // until here, a struct's first member holds all data
    side->by_id = ops::SortedIds(side->by_id.ids), side->by_position = ops::SortedIds(side->by_position.ids);
    const Tensor offsets = side->rows.begin;
    const int64_t sentences = offsets.numel() - 1;
    side->rows.begin = offsets.slice_rows(0, sentences), side->rows.end = offsets.slice_rows(1, sentences);
  }
  return batch;
}

}  // namespace weft
