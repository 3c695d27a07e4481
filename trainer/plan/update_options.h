// trainer/plan/update_options.h: checks and describes options of schedules and of the optimizer.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "trainer/config/run_config.h"
#include "trainer/stages/stages.h"

namespace weft {

// The check functions throw an Error of kind usage that names the options.
void check_optimizer(const RunConfig& config);
// `section` is the name of the schedule's section. If decay_steps is 0, the schedule decays over `total_steps`, which
// is nullopt if the number is not known before the run.
void check_schedule(const ScheduleConfig& schedule, std::optional<int64_t> total_steps,
                    const std::string& section = "schedule");
// Checks the schedules of the run and its stages. A stage without its own schedule must not start at a rate of 0.
void check_schedules(const RunConfig& config, const std::vector<Stage>& stages);

// Returns "rate up to 0.001 after ...".
std::string describe_schedule(const ScheduleConfig& schedule, std::optional<int64_t> total_steps);
std::string describe_optimizer(const RunConfig& config);      // empty for adam
std::string describe_fall_by_clock(const RunConfig& config);  // empty unless train.minutes may end a decay
// Returns the options that differ from their defaults but do not apply to these kinds of schedule and optimizer.
std::string describe_options_without_effect(const RunConfig& config);

}  // namespace weft
