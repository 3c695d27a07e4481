// launch/reports/pack_summary.h: what `weft pack` read, dropped and wrote, as text on standard output.
#pragma once

#include "data/packing/packer.h"

namespace weft {

void print_pack_summary(const PackSummary& summary, const PackOptions& options, double seconds);
void print_dropped(const Drops& dropped, const FilterOptions& options);  // the texts that were kept, by reason

}  // namespace weft
