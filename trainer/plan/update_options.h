// trainer/plan/update_options.h: options of the schedule and of the optimizer that must fit together, and their lines
// in the plan.
#pragma once

#include <string>

#include "trainer/run_config.h"

namespace weft {

// Throws an Error of kind usage that names the options.
void check_optimizer(const RunConfig& config);
void check_schedule(const ScheduleConfig& schedule, int64_t total_steps);

std::string describe_schedule(const ScheduleConfig& schedule, int64_t total_steps);  // "rate up to 0.001 after ..."
std::string describe_optimizer(const RunConfig& config);  // of another kind than adam; otherwise empty

}  // namespace weft
