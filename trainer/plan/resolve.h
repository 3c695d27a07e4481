// trainer/plan/resolve.h: checks the options of a run, opens its data, and fills in dependent options.
#pragma once

#include <vector>

#include "parallel/communicator.h"
#include "trainer/config/run_config.h"
#include "trainer/stages/stages.h"
#include "trainer/validation/validation_sets.h"

namespace weft {

struct ResolvedRun {
  RunConfig config;                  // complete, but train.precision may still be auto (trainer/precision.h)
  std::vector<Stage> stages;         // at least one; the corpora are open, and their pairs are counted
  std::vector<ValidationSet> valid;  // open
  BestRule best;                     // train.keep_best

  const MixCorpus& first_corpus() const { return stages.front().corpora.front(); }
};

// Opens the data, and fills in options that depend on data and ranks (vocabularies, source rows, grid, dropout rates).
// If the run cannot work or the ranks' options differ, throws an Error that names the options to change. All ranks of
// `world` must call this. `ranks` is the number of ranks of a planned run; 0: the size of `world`.
ResolvedRun resolve(const RunConfig& config, Communicator& world, int ranks = 0);

}  // namespace weft
