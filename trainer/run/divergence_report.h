// trainer/run/divergence_report.h: describes a diverged run and the remedy, as parts of one line.
#pragma once

#include <string>

#include "trainer/health/divergence.h"
#include "trainer/trainer.h"

namespace weft {

// `rise` is train.divergence_rise. REQUIRES: `found` is not none.
std::string describe_divergence(Divergence found, const StepReport& report, const DivergenceState& state, double rise);

// `good` is the folder of the newest checkpoint that is known to be good, or "". `schedule` is the section of the
// current schedule's options.
std::string advice_after_divergence(const std::string& good, OnDivergence chosen, const std::string& schedule);

}  // namespace weft
