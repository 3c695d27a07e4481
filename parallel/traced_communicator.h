// parallel/traced_communicator.h: a communicator that records when each of its collectives ran, for measuring.
//
// Another communicator does the work. Groups split from it write to the same trace. For an asynchronous collective, the
// time is what the caller spent on its start, each poll and the wait.
#pragma once

#include <memory>

#include "parallel/communicator.h"
#include "tensor/op/op_trace.h"

namespace weft {

// REQUIRES: `inner` and `trace` outlive it.
std::unique_ptr<Communicator> make_traced_communicator(Communicator& inner, OpTrace& trace);

inline constexpr char kCollective[] = "collective";  // the name of such a call in the trace

}  // namespace weft
