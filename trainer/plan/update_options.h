// trainer/plan/update_options.h: options of schedules and of the optimizer that must fit together, and their lines in
// the plan.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "trainer/config/run_config.h"
#include "trainer/stages/stages.h"

namespace weft {

// Each throws an Error of kind usage that names the options.
void check_optimizer(const RunConfig& config);
// `section`: of its options. `total_steps`: over which it decays, if it does not say that itself; nothing if that is
// not known before the run.
void check_schedule(const ScheduleConfig& schedule, std::optional<int64_t> total_steps,
                    const std::string& section = "schedule");
// The run's, and those of its stages. None may have fallen to 0 where a stage begins that has none of its own.
void check_schedules(const RunConfig& config, const std::vector<Stage>& stages);

// "rate up to 0.001 after ..."
std::string describe_schedule(const ScheduleConfig& schedule, std::optional<int64_t> total_steps);
std::string describe_optimizer(const RunConfig& config);      // of another kind than adam; otherwise empty
std::string describe_fall_by_steps(const RunConfig& config);  // of the rate, which train.minutes may cut; or empty
// Options that are not at their defaults, but belong to another kind of schedule or optimizer; may be empty.
std::string describe_options_without_effect(const RunConfig& config);

}  // namespace weft
