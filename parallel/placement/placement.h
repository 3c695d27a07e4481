// parallel/placement/placement.h: binds ranks to NUMA nodes unless their launcher has bound them, and divides cores
// among ranks.
#pragma once

#include <string>

#include "parallel/communicator.h"
#include "parallel/placement/rank_device.h"
#include "parallel/placement/report.h"

namespace weft {

// REQUIRES: all ranks call it after choose_device() and before the first op, because threads of ops and of NCCL that
// start later are bound like the calling thread. Memory follows by first touch: Linux allocates a page from the node of
// the core that first writes to it, if that node has free memory.
//
// Binds this rank to cores_to_bind_to() if `bind` is true, unless OMP_PLACES, OMP_PROC_BIND or GOMP_CPU_AFFINITY place
// its threads. Then sets the number of threads. Returns the report on the main rank, and an empty report on others.
PlacementReport place_ranks(bool bind, const RankDevice& own, Communicator& world, const std::string& sysfs = "/sys");

}  // namespace weft
