// trainer/plan/same_on_all_ranks.h: each rank reads its own command line and its own files; a run needs the
// same ones.
#pragma once

#include <string>

#include "parallel/communicator.h"
#include "trainer/plan/resolve.h"

namespace weft {

// All ranks call it. A usage Error names the first option, or the corpus, of a rank that differs from the main
// rank's.
void require_same_on_all_ranks(const ResolvedRun& run, Communicator& world);

}  // namespace weft
