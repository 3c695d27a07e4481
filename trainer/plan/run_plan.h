// trainer/plan/run_plan.h: describes a run before its first step.
#pragma once

#include <string>

#include "parallel/placement/rank_device.h"
#include "parallel/placement/report.h"
#include "trainer/plan/memory_plan.h"
#include "trainer/plan/resolve.h"

namespace weft {

// Returns the elements of the vocabulary tables, [V, D] each, which "without vocabulary tables" excludes.
int64_t vocabulary_numel(const ParamStore& params);

// Returns one screen: model, parameters, grid, devices of ranks, precision, blocks, steps per epoch, schedule, memory.
std::string describe_plan(const ResolvedRun& run, const ParamStore& params, const MemoryPlan& memory,
                          const RankDevice& own, const PlacementReport& placement);
// Breaks its rows between words at the width of the terminal. Logs keep it with one line per row.
std::string plan_for_screen(const std::string& plan);

}  // namespace weft
