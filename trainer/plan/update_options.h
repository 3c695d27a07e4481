// trainer/plan/update_options.h: checks and describes options of schedules and of the optimizer that must fit together.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "trainer/config/run_config.h"
#include "trainer/stages/stages.h"

namespace weft {

// Throw an Error of kind usage that names the options.
void check_optimizer(const RunConfig& config);
// `section` is the section of its options. `total_steps` are the steps over which it decays unless it has its own
// number; nothing if they are unknown before the run.
void check_schedule(const ScheduleConfig& schedule, std::optional<int64_t> total_steps,
                    const std::string& section = "schedule");
// Checks the schedules of the run and its stages. None may be 0 at the start of a stage without its own schedule.
void check_schedules(const RunConfig& config, const std::vector<Stage>& stages);

// "rate up to 0.001 after ..."
std::string describe_schedule(const ScheduleConfig& schedule, std::optional<int64_t> total_steps);
std::string describe_optimizer(const RunConfig& config);      // empty for adam
std::string describe_fall_by_steps(const RunConfig& config);  // a rate that train.minutes may cut off; or empty
// Returns options that differ from their defaults but belong to another kind of schedule or optimizer; may be empty.
std::string describe_options_without_effect(const RunConfig& config);

}  // namespace weft
