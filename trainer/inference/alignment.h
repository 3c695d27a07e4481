// trainer/inference/alignment.h: computes the cross-attention weights of sentence pairs.
//
// The model runs once over each pair with teacher forcing. Blocks have a fixed shape, so the weights of a pair do not
// depend on the other pairs of its block. The dp ranks divide the blocks among themselves. All ranks of the world must
// make the same calls, and get the same results.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "data/corpus.h"
#include "trainer/replica.h"

namespace weft {

struct Alignment {
  std::vector<int32_t> source, target;  // tokens, then eos; both empty if the source has no tokens
  std::vector<float> weights;           // [target, source]; each row sums to 1
  float at(size_t t, size_t s) const { return weights[t * source.size() + s]; }
};

class Aligner {
 public:
  // Throws an Error of kind usage if the model lacks the layer or head.
  Aligner(const Replica& replica, const Transformer::AttentionChoice& choice);

  // Passes alignments to `sink` in order, after each round of blocks, so memory does not grow with the number of pairs.
  using Sink = std::function<void(const Alignment&)>;
  void align(const std::vector<PairIds>& pairs, const Sink& sink);

 private:
  Tensor look(Pass& p, const Block& block) const;  // [T, W], in the arena
  size_t measure() const;

  const Replica& replica_;
  Transformer::AttentionChoice choice_;
  int64_t rows_;
  Arena arena_;
};

// A hard alignment links each target token to the source token with the largest weight.
struct AlignmentLink {
  size_t source = 0, target = 0;
  float weight = 0;
};
// Returns one link per target token, and ignores eos on both sides. If several source tokens have the largest weight,
// the link uses the first of them, as in fairseq's hard alignments.
std::vector<AlignmentLink> best_links(const Alignment& alignment);

}  // namespace weft
