// trainer/plan/resolve.h: what the options of a run name, read and checked once: everything after takes it from here.
#pragma once

#include <vector>

#include "parallel/communicator.h"
#include "trainer/config/run_config.h"
#include "trainer/stages/stages.h"
#include "trainer/validation/validation_sets.h"

namespace weft {

struct ResolvedRun {
  RunConfig config;                  // complete; train.precision may still be auto (trainer/precision.h)
  std::vector<Stage> stages;         // of its data, at least one; their corpora are open, and their pairs counted
  std::vector<ValidationSet> valid;  // open
  BestRule best;                     // train.keep_best

  const MixCorpus& first_corpus() const { return stages.front().corpora.front(); }
};

// Reads what the options name, fills in those that depend on data and ranks (vocabularies, source rows, grid, dropout
// rates) and refuses what cannot work, with the numbers and the options to change: also what differs between the ranks.
// All ranks of `world` call it. `ranks`: those of the run, which a plan may be of; 0: of `world`.
ResolvedRun resolve(const RunConfig& config, Communicator& world, int ranks = 0);

}  // namespace weft
