// trainer/plan/resolve.h: reads and checks everything that the options of a run name, once for all later parts.
#pragma once

#include <vector>

#include "parallel/communicator.h"
#include "trainer/config/run_config.h"
#include "trainer/stages/stages.h"
#include "trainer/validation/validation_sets.h"

namespace weft {

struct ResolvedRun {
  RunConfig config;                  // complete, but train.precision may still be auto (trainer/precision.h)
  std::vector<Stage> stages;         // at least one; their corpora are open, and their pairs counted
  std::vector<ValidationSet> valid;  // open
  BestRule best;                     // train.keep_best

  const MixCorpus& first_corpus() const { return stages.front().corpora.front(); }
};

// Reads what the options name and fills in options that depend on data and ranks (vocabularies, source rows, grid,
// dropout rates). Throws an Error with the numbers and the options to change if the run cannot work or ranks differ.
// All ranks of `world` call it. `ranks` is the number of ranks of a planned run; 0: the size of `world`.
ResolvedRun resolve(const RunConfig& config, Communicator& world, int ranks = 0);

}  // namespace weft
