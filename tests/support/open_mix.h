// tests/support/open_mix.h: a mix of corpora without a run's configuration.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "data/corpus.h"
#include "data/order/min_score.h"
#include "data/order/mix.h"

namespace weft::testing {

// Opens the corpora, numbers them in their order and counts the pairs that are used.
inline Mix open_mix(std::vector<MixCorpus> corpora) {
  Mix mix{.corpora = std::move(corpora)};
  for (MixCorpus& corpus : mix.corpora) {
    corpus.number = &corpus - mix.corpora.data();
    corpus.opened = std::make_shared<Corpus>(corpus.folder);
    corpus.num_pairs = corpus.opened->num_pairs();
    corpus.num_usable = corpus.min_score ? count_usable(*corpus.opened, *corpus.min_score) : corpus.num_pairs;
    mix.weighted = mix.weighted || corpus.manifest().columns.weight;
  }
  return mix;
}

inline Mix open_mix(const std::string& folder) { return open_mix(std::vector<MixCorpus>{{.folder = folder}}); }

}  // namespace weft::testing
