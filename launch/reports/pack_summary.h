// launch/reports/pack_summary.h: prints what `weft pack` read, dropped and wrote.
#pragma once

#include "data/packing/packer.h"

namespace weft {

void print_pack_summary(const PackSummary& summary, const PackOptions& options, double seconds);
void print_dropped(const Drops& dropped, const FilterOptions& options);  // prints the recorded pairs by reason
void print_changed(const SideCounts& counts, const char* side);          // prints the recorded texts by kind of change

}  // namespace weft
