// trainer/plan/run_plan.h: describes a run before its first step.
#pragma once

#include <string>

#include "parallel/placement/rank_device.h"
#include "parallel/placement/report.h"
#include "trainer/plan/memory_plan.h"
#include "trainer/plan/resolve.h"

namespace weft {

// Returns the number of elements in all vocabulary tables, [V, D] each, which the plan reports separately.
int64_t vocabulary_numel(const ParamStore& params);

// Describes ranks that wait in every step because other ranks have one more block. Returns "" if there are none.
std::string describe_idle_ranks(const RunConfig& config);

// Returns one screen of text: model, parameters, grid, devices, precision, blocks, steps per epoch, schedule, memory.
std::string describe_plan(const ResolvedRun& run, const ParamStore& params, const MemoryPlan& memory,
                          const RankDevice& own, const PlacementReport& placement);
// Breaks the rows of a plan between words to fit the width of the terminal. Logs contain the plan with unbroken rows.
std::string plan_for_screen(const std::string& plan);

}  // namespace weft
