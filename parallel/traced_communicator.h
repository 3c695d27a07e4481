// parallel/traced_communicator.h: makes a communicator that records when each of its collectives ran.
//
// It forwards all calls to `inner`. Groups that are split from it write to the same trace. The time of an asynchronous
// collective is the time that the caller spends in its start, its polls and its wait.
#pragma once

#include <memory>

#include "parallel/communicator.h"
#include "tensor/op/op_trace.h"

namespace weft {

// REQUIRES: `inner` and `trace` outlive the result.
std::unique_ptr<Communicator> make_traced_communicator(Communicator& inner, OpTrace& trace);

inline constexpr char kCollective[] = "collective";  // the name of a collective in the trace

}  // namespace weft
