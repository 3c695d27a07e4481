// trainer/plan/same_on_all_ranks.h: checks that all ranks were given the same command line and files.
#pragma once

#include "parallel/communicator.h"
#include "trainer/plan/resolve.h"

namespace weft {

// Throws a usage Error that names the first option or corpus that differs from the main rank's. All ranks call it.
void require_same_on_all_ranks(const ResolvedRun& run, Communicator& world);

}  // namespace weft
