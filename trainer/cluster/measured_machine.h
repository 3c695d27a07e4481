// trainer/cluster/measured_machine.h: the machine of a bench report, for `weft plan`.
#pragma once

#include "trainer/bench/bench.h"
#include "trainer/cluster/machine.h"

namespace weft {

// A node of the report's ranks. Rates are those of its step, so they hold for similar models and blocks; what a bench
// does not measure keeps its default and is assumed.
Machine measured_machine(const BenchReport& report);

}  // namespace weft
