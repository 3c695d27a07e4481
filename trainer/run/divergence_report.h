// trainer/run/divergence_report.h: what a diverged run says, as parts of one line.
#pragma once

#include <string>

#include "trainer/health/divergence.h"
#include "trainer/trainer.h"

namespace weft {

// `found` is not none; `rise`: train.divergence_rise.
std::string describe_divergence(Divergence found, const StepReport& report, const DivergenceState& state, double rise);

// `good`: the folder of the newest checkpoint that is known to be good, or empty; `schedule`: the section of the
// present schedule's options.
std::string advice_after_divergence(const std::string& good, OnDivergence chosen, const std::string& schedule);

}  // namespace weft
