// parallel/planned_group.h: imitates a group of ranks in dry runs, and records its collectives in a trace.
//
// Each collective becomes an op of the trace. The op's operand is this rank's tensor (for all_gather_v, the parts of
// all ranks), and its cost is the operand's bytes. In a dry run, TensorParallel records the tp collectives, and a
// planned group records the dp collectives.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "parallel/communicator.h"
#include "tensor/op/op_trace.h"

namespace weft {

inline constexpr char kTpAllReduce[] = "tp all_reduce", kTpAllGather[] = "tp all_gather",
                      kTpReduceScatter[] = "tp reduce_scatter";
inline constexpr char kDpAllReduce[] = "dp all_reduce", kDpAllGather[] = "dp all_gather",
                      kDpReduceScatter[] = "dp reduce_scatter", kDpAllToAll[] = "dp all_to_all",
                      kDpBroadcast[] = "dp broadcast", kDpAllGatherV[] = "dp all_gather_v";

inline bool is_tp_collective(std::string_view op) { return op.starts_with("tp "); }
inline bool is_dp_collective(std::string_view op) { return op.starts_with("dp "); }

// Both functions record a collective if `trace` is given and keeps ops.
void note_collective(OpTrace* trace, const char* name, const Tensor& x);
void note_collective(OpTrace* trace, const char* name, const std::vector<Tensor>& parts);

// Returns rank 0 of a group of `size` ranks. Collectives return immediately and do not touch their tensors, whose data
// may be null. `trace`, if given, records them as dp collectives, and all-reduces under the name `all_reduce`.
// REQUIRES: `trace` outlives the group.
std::unique_ptr<Communicator> make_planned_group(int size, OpTrace* trace = nullptr,
                                                 const char* all_reduce = kDpAllReduce);

}  // namespace weft
