// model/decoding/beam_search.h: runs beam search, or draws samples, for many sentences with cached keys and values.
//
// A sentence's result does not depend on the other sentences of the batch, because the decoder has a fixed number of
// slots, the encoder has windows of fixed size (slot_decoder.h), and a row of a GEMM does not depend on its place.
// Sentences enter when slots become free, long sentences first. Under tensor parallelism, all ranks of the tp group
// make the same calls and the same decisions. token_rules.h defines which tokens may be predicted, beam.h the search,
// and sampling.h a sample. slot_decoder.h computes them, and ensemble.h the mean of several models.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "model/decoding/beam.h"
#include "model/decoding/ensemble.h"
#include "model/decoding/sampling.h"
#include "model/decoding/search_work.h"
#include "model/decoding/slot_decoder.h"

namespace weft {

struct SearchOptions {
  BeamOptions beam;
  // If above 0, no hypothesis contains the same sequence of this many tokens twice (Paulus et al. 2018), except inside
  // a character.
  int64_t no_repeat_ngram = 0;
  SamplingOptions sampling;  // with samples > 0, each request gets one sample, and the beam must be 1
  EnsembleMean mean = EnsembleMean::probability;
};

inline constexpr int64_t kLongestTarget = 1023;  // fewer with a shorter table of learned positions

class BeamSearch {
 public:
  // Decodes at most `side_by_side` sentences at a time; 0 = as many as fit. The value affects only the speed.
  // Without classes in `rules`, every token except bos is allowed. REQUIRES: all models have the same vocabularies.
  BeamSearch(const std::vector<SearchModel>& models, const SearchOptions& options, TokenRules rules = {},
             int64_t side_by_side = 0);

  int64_t longest_source() const { return decoder_.shape().window_rows - 1; }
  int64_t longest_target() const { return longest_target_; }
  size_t memory_bytes() const { return decoder_.memory_bytes(); }

  // Returns the n-best list of each request, in order. Calls on_done with the number of finished requests.
  std::vector<std::vector<Hypothesis>> search(const std::vector<BeamRequest>& requests,
                                              const std::function<void(int64_t)>& on_done = {});
  void search(SearchWork& work);  // decodes what it takes from `work`

 private:
  class Run;
  SearchOptions options_;
  TokenRules rules_;
  int64_t longest_target_, num_groups_, rows_per_slot_, side_by_side_;
  Ensemble decoder_;
};

}  // namespace weft
