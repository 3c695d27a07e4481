// trainer/run/divergence_report.h: describes a diverged run and the remedy, as two parts of one line.
#pragma once

#include <string>

#include "trainer/health/divergence.h"
#include "trainer/trainer.h"

namespace weft {

// Describes the divergence `found` (not none) after the step of `report`. `rise` is train.divergence_rise.
std::string describe_divergence(Divergence found, const StepReport& report, const DivergenceState& state, double rise);

// Describes what the user can do. `good` is the folder of the newest checkpoint that is known to be good, or "".
// `schedule` is the section of the current schedule's options.
std::string advice_after_divergence(const std::string& good, OnDivergence chosen, const std::string& schedule);

}  // namespace weft
