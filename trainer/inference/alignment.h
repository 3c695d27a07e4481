// trainer/inference/alignment.h: where a model looks while it writes: cross-attention weights of given sentence pairs.
//
// A pair goes through the model once, by teacher forcing, in blocks of fixed shape: its weights are a function of the
// pair, whatever shares the block. The dp ranks share the blocks. All ranks of the world make the same calls, and get
// the same results.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "data/corpus.h"
#include "trainer/replica.h"

namespace weft {

struct Alignment {
  std::vector<int32_t> source, target;  // pieces, then eos; both empty if the source has no pieces
  std::vector<float> weights;           // [target, source]; a row sums to 1
  float at(size_t t, size_t s) const { return weights[t * source.size() + s]; }
};

class Aligner {
 public:
  // A layer or head that the model lacks is an Error of kind usage.
  Aligner(const Replica& replica, const Transformer::AttentionChoice& choice);

  // Gives the pairs' alignments in their order, a round of blocks at a time: memory does not grow with the pairs.
  using Sink = std::function<void(const Alignment&)>;
  void align(const std::vector<PairIds>& pairs, const Sink& sink);

 private:
  Tensor look(Pass& p, const Block& block) const;  // [T rows, W] of the arena
  size_t measure() const;

  const Replica& replica_;
  Transformer::AttentionChoice choice_;
  int64_t rows_;
  Arena arena_;
};

// A place of a hard alignment: the source piece that a target piece looks at most.
struct AlignmentLink {
  size_t source = 0, target = 0;
  float weight = 0;
};
// One link for each target piece, to one of the source pieces; eos has no part on either side, and of equal weights the
// first counts (as fairseq extracts hard alignments).
std::vector<AlignmentLink> best_links(const Alignment& alignment);

}  // namespace weft
