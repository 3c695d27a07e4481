// trainer/inference/search_config.h: how `weft translate` searches: the options that a checkpoint saves, and those of
// one command.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "data/tokenizer.h"
#include "model/decoding/beam_search.h"
#include "trainer/config/run_config.h"
#include "trainer/inference/minimum_risk.h"

namespace weft {

struct SearchConfig {
  DecodeConfig decode;                      // without its beam if there are samples
  SamplingOptions sampling;                 // samples = 0: beam search
  RiskUtility utility = RiskUtility::none;  // returns only the sample with the highest expected utility
  int64_t no_repeat_ngram = 0;
  std::vector<std::string> suppressed;  // pieces of the target vocabulary that are never predicted
  EnsembleMean mean = EnsembleMean::probability;

  int64_t requests_per_sentence() const { return std::max<int64_t>(sampling.samples, 1); }
  int64_t num_translations() const {  // per sentence
    return utility != RiskUtility::none ? 1 : sampling.samples > 0 ? sampling.samples : decode.nbest;
  }
};

// These functions throw an Error of kind usage for an invalid value.
BeamOptions beam_options(const DecodeConfig& config);
SearchOptions search_options(const SearchConfig& config);
TokenRules token_rules(const SearchConfig& config, const Tokenizer& target);

}  // namespace weft
