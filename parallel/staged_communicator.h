// parallel/staged_communicator.h: collectives on a device's tensors through the host's memory: each is copied there,
// goes over a communicator that knows host memory alone, and is copied back.
//
// It waits for the device whenever it copies to the host, and gives the bits of the other communicator. Several ranks
// may compute on one GPU. The work of NVIDIA's library, which needs none of these copies: nccl.h.
#pragma once

#include <memory>

#include "parallel/communicator.h"
#include "tensor/context.h"

namespace weft {

// For tensors on ctx's device. `inner` and `ctx` outlive it, and groups split from it.
std::unique_ptr<Communicator> make_staged_communicator(Communicator& inner, Context& ctx);

}  // namespace weft
