// data/batch.h: the block, the unit of work: a fixed number of source and target rows filled with whole sentence pairs.
//
// Sentences lie end to end without padding between them; offsets say where each begins. Every block of a run has the
// same number of rows, so every tensor of a step has one shape. Rows past the last sentence are unused: id 0, target
// -1, position 0.
#pragma once

#include <cstdint>
#include <vector>

namespace weft {

// Ids that every vocabulary of ours has (SentencePiece is trained so).
struct SpecialIds {
  static constexpr int32_t unk = 0, bos = 1, eos = 2;
};

struct Block {
  int64_t index = 0;                      // which block of its step, whatever rank has it: 0 .. blocks_per_step - 1
  std::vector<int32_t> source;            // [S rows] each sentence's pieces, then eos
  std::vector<int32_t> source_positions;  // [S rows] place within the sentence
  std::vector<int32_t> source_offsets;    // [B + 1]
  std::vector<int32_t> target_in;         // [T rows] bos, then the sentence's pieces
  std::vector<int32_t> target_out;        // [T rows] the sentence's pieces, then eos; -1 in unused rows
  std::vector<int32_t> target_positions;  // [T rows]
  std::vector<int32_t> target_offsets;    // [B + 1]

  int64_t num_sentences() const { return static_cast<int64_t>(source_offsets.size()) - 1; }
  int64_t source_tokens() const { return source_offsets.back(); }  // real rows, eos included
  int64_t target_tokens() const { return target_offsets.back(); }
};

// Builds a block of `source_rows` x `target_rows` out of whole pairs; the caller has made sure that they fit.
// Pieces are without bos and eos.
class BlockBuilder {
 public:
  BlockBuilder(int64_t source_rows, int64_t target_rows);
  void add(const std::vector<int32_t>& source_pieces, const std::vector<int32_t>& target_pieces);
  Block finish(int64_t index);  // pads with unused rows; the builder is empty again

 private:
  int64_t source_rows_, target_rows_;
  Block block_;
};

struct Step {  // one rank's part of an optimizer step
  int64_t epoch = 0;
  std::vector<Block> blocks;      // this dp rank's blocks
  int64_t num_source_tokens = 0;  // of the whole step, over all ranks
  int64_t num_target_tokens = 0;
  double fill = 0;  // real rows / all rows of the whole step, source and target together
};

}  // namespace weft
