// data/subword/subword_sampler.cpp: selects the kind of sampling for the model.
#include "data/subword/subword_sampler.h"

#include "data/atomic_file.h"

namespace weft {

SubwordSampler::SubwordSampler(const std::string& model_file) : pieces_(read_file(model_file), model_file) {}

std::vector<int32_t> SubwordSampler::sample(std::string_view text, double alpha, CountedRandom& random) const {
  std::vector<int32_t> ids = pieces_.kind() == PieceList::bpe ? sample_bpe(pieces_, text, alpha, random)
                                                              : sample_unigram(pieces_, text, alpha, random);
  for (int32_t& id : ids) id = pieces_.token_of(id);
  return ids;
}

}  // namespace weft
