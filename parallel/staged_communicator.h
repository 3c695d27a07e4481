// parallel/staged_communicator.h: collectives on device tensors through host memory: copy to the host, call a
// communicator for host memory, copy back.
//
// It waits for the device at each copy to the host, and yields the same bits as the other communicator. Several ranks
// may share one GPU. nccl.h needs none of these copies.
#pragma once

#include <memory>

#include "parallel/communicator.h"
#include "tensor/context.h"

namespace weft {

// For tensors on ctx's device. REQUIRES: `inner` and `ctx` outlive it and the groups split from it.
std::unique_ptr<Communicator> make_staged_communicator(Communicator& inner, Context& ctx);

}  // namespace weft
