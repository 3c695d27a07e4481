// tests/support/resolved.h: what a run resolves, part by part.
#pragma once

#include <vector>

#include "data/order/min_score.h"
#include "parallel/communicator.h"
#include "trainer/plan/open_data.h"
#include "trainer/plan/resolve.h"

namespace weft::testing {

// Resolves the configuration as each of `ranks` ranks would.
inline RunConfig resolved(const RunConfig& config, int ranks) {
  return resolve(config, *make_single_communicator(), ranks).config;
}

inline std::vector<Stage> open_stages(const RunConfig& config) {
  std::vector<Stage> stages = parse_stages(config);
  open_training_corpora(config, stages);
  for (Stage& stage : stages)
    for (MixCorpus& corpus : stage.corpora)
      if (corpus.min_score && corpus.manifest().columns.score)
        corpus.num_usable = count_usable(*corpus.opened, *corpus.min_score);
  return stages;
}

inline std::vector<ValidationSet> open_sets(const RunConfig& config) {
  std::vector<ValidationSet> sets = parse_validation_sets(config.data.valid);
  open_validation_sets(config, open_stages(config).front().corpora.front(), sets);
  return sets;
}

}  // namespace weft::testing
