// data/batch.cpp: places pairs end to end in a block.
#include "data/batch.h"

#include <cassert>
#include <cstddef>
#include <utility>

namespace weft {
namespace {

Block empty_block(int64_t source_rows, int64_t target_rows) {
  const auto num_source = static_cast<size_t>(source_rows), num_target = static_cast<size_t>(target_rows);
  Block block;
  block.source.reserve(num_source);
  block.source_positions.reserve(num_source);
  block.target_in.reserve(num_target);
  block.target_out.reserve(num_target);
  block.target_positions.reserve(num_target);
  block.source_offsets = {0};
  block.target_offsets = {0};
  return block;
}

void append_positions(std::vector<int32_t>& positions, size_t length) {
  for (size_t i = 0; i < length; ++i) positions.push_back(static_cast<int32_t>(i));
}

}  // namespace

double Block::target_weight(int64_t sentence) const {
  const auto i = static_cast<size_t>(sentence);
  const int32_t first = target_offsets[i], tokens = target_offsets[i + 1] - first;
  return weights.empty() ? tokens : tokens * static_cast<double>(weights[static_cast<size_t>(first)]);
}

double Block::target_weight() const {
  if (weights.empty()) return static_cast<double>(target_tokens());
  double weight = 0;
  for (int64_t i = 0; i < num_sentences(); ++i) weight += target_weight(i);
  return weight;
}

BlockBuilder::BlockBuilder(int64_t source_rows, int64_t target_rows, bool weighted)
    : source_rows_(source_rows),
      target_rows_(target_rows),
      weighted_(weighted),
      block_(empty_block(source_rows, target_rows)) {}

void BlockBuilder::add(std::span<const int32_t> source_tokens, std::span<const int32_t> target_tokens,
                       const EpochPair& pair, float weight) {
  Block& b = block_;
  b.pairs.push_back(pair);
  b.source.insert(b.source.end(), source_tokens.begin(), source_tokens.end());
  b.source.push_back(SpecialIds::eos);
  append_positions(b.source_positions, source_tokens.size() + 1);
  b.source_offsets.push_back(static_cast<int32_t>(b.source.size()));

  b.target_in.push_back(SpecialIds::bos);
  b.target_in.insert(b.target_in.end(), target_tokens.begin(), target_tokens.end());
  b.target_out.insert(b.target_out.end(), target_tokens.begin(), target_tokens.end());
  b.target_out.push_back(SpecialIds::eos);
  append_positions(b.target_positions, target_tokens.size() + 1);
  b.target_offsets.push_back(static_cast<int32_t>(b.target_in.size()));
  if (weighted_) b.weights.resize(b.target_in.size(), weight);
  assert(b.source_tokens() <= source_rows_ && b.target_tokens() <= target_rows_);
}

Block BlockBuilder::finish(int64_t index) {
  Block block = std::exchange(block_, empty_block(source_rows_, target_rows_));
  block.index = index;
  block.source.resize(static_cast<size_t>(source_rows_), 0);
  block.source_positions.resize(static_cast<size_t>(source_rows_), 0);
  block.target_in.resize(static_cast<size_t>(target_rows_), 0);
  block.target_out.resize(static_cast<size_t>(target_rows_), -1);
  block.target_positions.resize(static_cast<size_t>(target_rows_), 0);
  if (weighted_) block.weights.resize(static_cast<size_t>(target_rows_), 0);
  return block;
}

std::vector<int64_t> Step::epochs() const {
  std::vector<int64_t> epochs;
  for (const StepCorpus& corpus : corpora) epochs.push_back(corpus.epoch);
  return epochs;
}

int64_t Step::num_pairs() const {
  int64_t pairs = 0;
  for (const Block& block : blocks) pairs += block.num_sentences();
  return pairs;
}

int64_t Step::source_tokens() const {
  int64_t tokens = 0;
  for (const Block& block : blocks) tokens += block.source_tokens();
  return tokens;
}

int64_t Step::target_tokens() const {
  int64_t tokens = 0;
  for (const Block& block : blocks) tokens += block.target_tokens();
  return tokens;
}

double Step::target_weight() const {
  double weight = 0;
  for (const Block& block : blocks) weight += block.target_weight();
  return weight;
}

}  // namespace weft
