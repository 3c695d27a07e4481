// trainer/prediction/grid_memory.h: planned bytes of the tensors of a rank, without the device that will hold them.
#pragma once

#include "trainer/plan/memory_plan.h"
#include "trainer/prediction/machine.h"

namespace weft {

// On a CPU what plan_tensors() counts; on a GPU the same without packed weights, scratch and the validation's decoder.
MemoryPlan grid_memory(const Machine& machine, const RunConfig& config);

}  // namespace weft
