// parallel/planned_group.h: a group of ranks that do not exist, for dry runs: what they would communicate is noted in
// the trace.
//
// A collective is an op of the trace whose operand is this rank's tensor (of all_gather_v the parts of all ranks are
// operands), and whose cost is their bytes. Those of tensor parallelism are noted by TensorParallel in a dry run, those
// of data parallelism by a planned group.
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

// Nothing without a trace that keeps ops.
void note_collective(OpTrace* trace, const char* name, const Tensor& x);
void note_collective(OpTrace* trace, const char* name, const std::vector<Tensor>& parts);

// Rank 0 of a group of `size`. Collectives end at once and change no tensor, whose data may be null. With `trace`,
// which outlives it, they are noted: as those of data parallelism, but all-reduces by the name given.
std::unique_ptr<Communicator> make_planned_group(int size, OpTrace* trace = nullptr,
                                                 const char* all_reduce = kDpAllReduce);

}  // namespace weft
