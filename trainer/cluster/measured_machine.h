// trainer/cluster/measured_machine.h: turns a bench report into a machine for `weft plan`.
#pragma once

#include "trainer/bench/bench.h"
#include "trainer/cluster/machine.h"

namespace weft {

// Returns a node with the report's ranks. The rates come from its step, so they hold for similar models and blocks.
// What a bench does not measure keeps its default and is marked as assumed.
Machine measured_machine(const BenchReport& report);

}  // namespace weft
