// data/batch.h: defines the block, the unit of work: a fixed number of source and target rows that hold complete pairs.
//
// Sentences are stored end to end, without padding between them, and offsets mark their starts. Every block of a run
// contains the same number of rows, so tensors have the same shapes in every step. A row after the last sentence is
// unused: its id is 0, its target -1 and its position 0.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace weft {

// These ids are the same in all vocabularies, because SentencePiece is trained with them.
struct SpecialIds {
  static constexpr int32_t unk = 0, bos = 1, eos = 2, count = 3;
};

// Identifies a pair in the training stream, which yields each pair once per epoch of the pair's corpus.
struct EpochPair {
  int64_t corpus = 0;  // number of the corpus in the run
  int64_t pair = 0, epoch = 0;
  bool operator==(const EpochPair&) const = default;
};

struct Block {
  int64_t index = 0;                      // index within its step, over all ranks: 0 .. blocks_per_step - 1
  std::vector<int32_t> source;            // [S rows] each sentence's tokens, then eos
  std::vector<int32_t> source_positions;  // [S rows] position within the sentence
  std::vector<int32_t> source_offsets;    // [B + 1]
  std::vector<int32_t> target_in;         // [T rows] bos, then the sentence's tokens
  std::vector<int32_t> target_out;        // [T rows] the sentence's tokens, then eos; -1 in unused rows
  std::vector<int32_t> target_positions;  // [T rows]
  std::vector<int32_t> target_offsets;    // [B + 1]
  std::vector<float> weights;             // [T rows] weight of each row's pair; empty: all 1
  std::vector<EpochPair> pairs;           // [B] training data only

  int64_t num_sentences() const { return static_cast<int64_t>(source_offsets.size()) - 1; }
  int64_t source_tokens() const { return source_offsets.back(); }  // real rows, eos included
  int64_t target_tokens() const { return target_offsets.back(); }
  double target_weight(int64_t sentence) const;  // sum over the sentence's target tokens
  double target_weight() const;                  // sum over all target tokens
};

// Builds a block from complete pairs, which add() takes without bos and eos. REQUIRES: the pairs fit into the block.
class BlockBuilder {
 public:
  // If `weighted` is false, every pair has the weight 1, and the block stores no weights.
  BlockBuilder(int64_t source_rows, int64_t target_rows, bool weighted = false);
  void add(std::span<const int32_t> source_tokens, std::span<const int32_t> target_tokens, const EpochPair& pair = {},
           float weight = 1);
  Block finish(int64_t index);  // pads with unused rows and empties the builder

 private:
  int64_t source_rows_, target_rows_;
  bool weighted_;
  Block block_;
};

struct StepCorpus {    // a corpus of the mix, as one rank's part of a step uses it
  int64_t number = 0;  // the corpus's number in the run
  int64_t epoch = 0;   // the corpus's epoch at the start of the first block
  int64_t passed = 0;  // pairs that are in the rank's blocks, or were passed over for them
};

struct Step {  // one rank's part of an optimizer step
  std::vector<StepCorpus> corpora;
  std::vector<Block> blocks = {};  // this dp rank's blocks, or one empty block if it owns none
  int64_t dropped = 0;             // pairs passed over because they do not fit a block
  int64_t below_score = 0;         // pairs passed over because their score is too low

  std::vector<int64_t> epochs() const;
  int64_t num_pairs() const;      // pairs in these blocks
  int64_t source_tokens() const;  // real rows, eos included
  int64_t target_tokens() const;
  double target_weight() const;
};

}  // namespace weft
