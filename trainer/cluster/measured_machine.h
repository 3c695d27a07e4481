// trainer/cluster/measured_machine.h: turns a bench report into the description of a machine for `weft plan`.
#pragma once

#include "trainer/bench/bench.h"
#include "trainer/cluster/machine.h"

namespace weft {

// Returns a machine of one node with the ranks of the report. The rates come from the report's step, so they hold for
// similar models and blocks. Constants that a bench does not measure keep their defaults and are marked as assumed.
Machine measured_machine(const BenchReport& report);

}  // namespace weft
