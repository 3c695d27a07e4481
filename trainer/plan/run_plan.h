// trainer/plan/run_plan.h: resolves a run's configuration and prints its plan before the first step.
#pragma once

#include <string>

#include "parallel/mesh.h"
#include "parallel/placement/report.h"
#include "trainer/config/run_config.h"
#include "trainer/plan/memory_plan.h"

namespace weft {

// Fills in options that depend on data and ranks (vocabularies, source rows, grid, dropout rates) and refuses
// what cannot work, with the numbers and the options to change. The result can be saved and loaded again.
// train.precision may still be auto: it depends on every rank's processor (trainer/precision.h).
RunConfig resolve(RunConfig config, int ranks);

// Whether the rows of its blocks can be split over tp, if parallel.sequence asks for it; an Error if they cannot.
// Source rows are known.
bool splits_evenly(const RunConfig& config);
void require_even_rows(const RunConfig& config);

// Elements of the vocabulary tables, [V, D] each; "without vocabulary tables" excludes them.
int64_t vocabulary_numel(const ParamStore& params);

// One screen: model, parameters, grid, what ranks got, precision, blocks, steps an epoch, schedule, memory.
std::string describe_plan(const RunConfig& config, const ParamStore& params, const MemoryPlan& memory,
                          const RankDevice& own, const PlacementReport& placement);

}  // namespace weft
