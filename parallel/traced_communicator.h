// parallel/traced_communicator.h: a communicator that notes when each of its collectives ran, for measuring.
//
// Everything is done by another one. Groups split from it write to the same trace. Of a collective that was started
// beside the caller, the starting, each poll and the wait count: what the caller spent on it.
#pragma once

#include <memory>

#include "parallel/communicator.h"
#include "tensor/op_trace.h"

namespace weft {

// `inner` and `trace` outlive it.
std::unique_ptr<Communicator> make_traced_communicator(Communicator& inner, OpTrace& trace);

inline constexpr char kCollective[] = "collective";  // the name of such a call

}  // namespace weft
