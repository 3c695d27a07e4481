// parallel/placement/placement.h: binds the ranks that their launcher left unbound to NUMA nodes, and divides cores.
#pragma once

#include <string>

#include "parallel/communicator.h"
#include "parallel/placement/rank_device.h"
#include "parallel/placement/report.h"

namespace weft {

// All ranks call it after choose_device(), before the first op: threads of ops and of NCCL that start later are bound
// as the calling thread. Memory follows by first touch: Linux takes a page from the node of the core that first writes
// to it, if that node has some left.
//
// Binds this rank to cores_to_bind_to() if `bind`, unless OMP_PLACES, OMP_PROC_BIND or GOMP_CPU_AFFINITY place threads.
// Then sets the number of threads. Returns the report on the main rank, an empty one on others.
PlacementReport place_ranks(bool bind, const RankDevice& own, Communicator& world, const std::string& sysfs = "/sys");

}  // namespace weft
