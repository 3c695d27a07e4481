// trainer/stages/mix_rates.h: estimates how many steps epochs take, from the manifests of the corpora.
//
// The estimate is the same on every grid and before every start. It is the basis of the plan, and of schedules that
// decay until train.epochs end the run.
#pragma once

#include <cstdint>
#include <vector>

#include "data/batch_config.h"
#include "trainer/stages/stages.h"

namespace weft {

// Estimates as if all pairs had the mix's mean lengths and every block were full. REQUIRES: the corpora are open, and
// their pairs are counted.
struct MixRates {
  MixRates(const Stage& stage, const BatchConfig& batch);
  double share(const MixCorpus& corpus) const { return static_cast<double>(corpus.weight) / weights; }
  double steps_per_epoch(const MixCorpus& corpus) const {
    return static_cast<double>(corpus.num_usable) / (share(corpus) * pairs_a_step);
  }

  double weights = 0, source = 0, target = 0, pairs_a_step = 0;  // source, target: mean tokens of a pair
};

// Returns the steps over which the schedule of a run decays by default: train.steps or, if train.epochs or train.tokens
// end the run, the number of steps that they are expected to take.
int64_t steps_of_run(const RunConfig& config, const std::vector<Stage>& stages);

}  // namespace weft
