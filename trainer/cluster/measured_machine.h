// trainer/cluster/measured_machine.h: turns a bench report into a machine for `weft plan`.
#pragma once

#include "trainer/bench/bench.h"
#include "trainer/cluster/machine.h"

namespace weft {

// Returns a machine with one node that has the report's ranks. The rates come from the report's step, so they hold for
// similar models and blocks. Constants that a bench does not measure keep their defaults and are marked as assumed.
Machine measured_machine(const BenchReport& report);

}  // namespace weft
