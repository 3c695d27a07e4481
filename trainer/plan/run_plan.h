// trainer/plan/run_plan.h: what a run will be, decided and printed before its first step.
#pragma once

#include <string>

#include "parallel/mesh.h"
#include "trainer/plan/memory_plan.h"
#include "trainer/run_config.h"

namespace weft {

// Fills in what depends on data and ranks (vocabularies, source rows, grid, dropout rates) and refuses what cannot
// work, with the numbers and the options to change. The result loads again as it is. train.precision may still be auto:
// what that is depends on every rank's processor (trainer/plan/precision.h).
RunConfig resolve(RunConfig config, int ranks);

// Entries of the vocabulary tables, [V, D] each: what parameter counts leave out when they say so.
int64_t vocabulary_numel(const ParamStore& params);

// One screen: model, parameters, grid, precision, blocks, steps an epoch, schedule, memory.
std::string describe_plan(const RunConfig& config, const ParamStore& params, const MemoryPlan& memory,
                          const RankDevice& own);

}  // namespace weft
