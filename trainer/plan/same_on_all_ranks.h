// trainer/plan/same_on_all_ranks.h: checks that all ranks were given the same command line and files.
#pragma once

#include "parallel/communicator.h"
#include "trainer/plan/resolve.h"

namespace weft {

// Throws a usage Error if this rank's options or corpora differ from the main rank's. All ranks must call this.
void require_same_on_all_ranks(const ResolvedRun& run, Communicator& world);

}  // namespace weft
