// data/subword/subword_sampler.h: draws one of the possible segmentations of a sentence at random: by BPE dropout
// (Provilkov et al. 2020) for BPE models, and from the lattice of all segmentations (Kudo 2018, 3.3) for unigram
// models. The distributions equal those of SentencePiece's SampleEncode, but the random numbers do not depend on the
// thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "data/subword/counted_random.h"
#include "data/subword/piece_table.h"

namespace weft {

class SubwordSampler {
 public:
  // REQUIRES: Tokenizer accepts the model.
  explicit SubwordSampler(const std::string& model_file);

  // Returns ids without begin and end of sentence. REQUIRES: `text` is normalized (Tokenizer::normalise()). For BPE,
  // `alpha` in [0, 1] is the probability that a merge is left out: 0 gives the usual segmentation, 1 gives single
  // characters. For unigram models, `alpha` >= 0 is the exponent of a segmentation's probability: 0 makes all
  // segmentations equally likely, and large values leave only the best one.
  std::vector<int32_t> sample(std::string_view text, double alpha, CountedRandom& random) const;

  PieceList::Kind kind() const { return pieces_.kind(); }

 private:
  PieceTable pieces_;
};

// sample() calls one of these two functions.
std::vector<int32_t> sample_bpe(const PieceTable& pieces, std::string_view text, double dropout, CountedRandom& random);
std::vector<int32_t> sample_unigram(const PieceTable& pieces, std::string_view text, double exponent,
                                    CountedRandom& random);

}  // namespace weft
