// trainer/inference/alignment.h: computes cross-attention weights of given sentence pairs.
//
// The model runs once over each pair, with teacher forcing, in blocks of fixed shape, so the weights of a pair do not
// depend on the other pairs of its block. The dp ranks divide the blocks. All ranks of the world make the same calls
// and get the same results.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "data/corpus.h"
#include "trainer/replica.h"

namespace weft {

struct Alignment {
  std::vector<int32_t> source, target;  // tokens, then eos; both empty if the source has no tokens
  std::vector<float> weights;           // [target, source]; a row sums to 1
  float at(size_t t, size_t s) const { return weights[t * source.size() + s]; }
};

class Aligner {
 public:
  // Throws an Error of kind usage if the model lacks the layer or head.
  Aligner(const Replica& replica, const Transformer::AttentionChoice& choice);

  // Yields the alignments in order, one round of blocks at a time, so memory does not grow with the number of pairs.
  using Sink = std::function<void(const Alignment&)>;
  void align(const std::vector<PairIds>& pairs, const Sink& sink);

 private:
  Tensor look(Pass& p, const Block& block) const;  // [T rows, W], in the arena
  size_t measure() const;

  const Replica& replica_;
  Transformer::AttentionChoice choice_;
  int64_t rows_;
  Arena arena_;
};

// An entry of a hard alignment: a target token and the source token with the largest weight.
struct AlignmentLink {
  size_t source = 0, target = 0;
  float weight = 0;
};
// Returns one link from each target token to a source token. Neither side includes eos. Among equal weights the first
// is used (fairseq's rule for hard alignments).
std::vector<AlignmentLink> best_links(const Alignment& alignment);

}  // namespace weft
