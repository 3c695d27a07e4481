// parallel/staged_communicator.h: sends device tensors through host memory: it copies them to the host, calls a
// communicator for host memory, and copies the results back.
//
// Each copy to the host waits for the device. The results have the same bits as the host communicator's. Several ranks
// may share one GPU. NCCL (nccl.h) needs no such copies.
#pragma once

#include <memory>

#include "parallel/communicator.h"
#include "tensor/context.h"

namespace weft {

// Returns a communicator for tensors on ctx's device. REQUIRES: `inner` and `ctx` outlive it and its split groups.
std::unique_ptr<Communicator> make_staged_communicator(Communicator& inner, Context& ctx);

}  // namespace weft
