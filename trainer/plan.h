// trainer/plan.h: what a run will be, decided and printed before its first step.
#pragma once

#include <string>

#include "parallel/mesh.h"
#include "trainer/run_config.h"

namespace weft {

// Fills in what depends on data and ranks (vocabularies, source rows, grid, dropout rates) and refuses what cannot
// work, with the numbers and the options to change. The result loads again as it is.
RunConfig resolve(RunConfig config, int ranks);

struct MemoryPlan {  // bytes on one rank
  size_t parameters = 0, gradients = 0, moments = 0, activations = 0;
  size_t total() const { return parameters + gradients + moments + activations; }
};

// Entries of the vocabulary tables, [V, D] each: what parameter counts leave out when they say so.
int64_t vocabulary_numel(const ParamStore& params);

// One screen: model, parameters, grid, blocks, steps an epoch, schedule, memory.
std::string describe_plan(const RunConfig& config, const ParamStore& params, const MemoryPlan& memory);

}  // namespace weft
