// tests/prediction/kernel_costs.h: what each kernel of tensor/cuda costs: the only table to change when a kernel
// changes. Matrix products are in gemm_time.h.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "tests/prediction/gpu_model.h"

namespace weft {

inline constexpr double kKernelRamp = 1.0e-6;  // seconds from a kernel's start until all of its blocks run
inline constexpr double kIpc = 3.0;  // instructions of warps that a SM with enough of them issues in a cycle, of 4

struct KernelCost {
  std::string_view op;        // of tensor/ops.h; a product's own passes are "gemm bias" and "gemm d_bias"
  std::string_view kernel;    // an op's kernels run in the order of the table
  std::string_view elements;  // the operand whose elements it processes; "": it is bound by latency alone
  double instructions = 0;    // of a thread, an element
  double bytes = 0;           // moved, as a multiple of the op's (OpCost)
  double latency = 0;         // seconds: serial loads, and what else no other work hides
  double ipc = kIpc;
  std::string_view origin;  // of the numbers
};
std::span<const KernelCost> kernel_costs();

// Attention (attention_time.h). Forward a warp's tile of queries visits its sentences in chunks of keys.
struct AttentionForwardCost {
  double chunk_instructions = 0;  // of the warp, for a chunk
  double tile_instructions = 0;   // without the chunks
  double tile_loads = 0;          // loads that wait for each other: at a tile's start
  double chunk_loads = 0;         // and for each chunk
  int64_t tile_rows = 16, chunk_rows = 32;
  int64_t tiles_of_block = 4;
  int max_blocks = 0;    // of an SM, as registers allow
  int shared_bytes = 0;  // of a block
  std::string_view origin;
};
const AttentionForwardCost& attention_forward_cost();

// Backward a block of four warps takes a piece (tensor/op/attention_pieces.h), in one or more steps.
struct AttentionBackwardCost {
  double step_instructions = 0;      // of each warp, without those below
  double score_instructions = 0;     // of a warp with a tile of queries, for each tile of keys that it sees
  double gradient_instructions = 0;  // of a warp with a tile of keys, for each tile of queries that sees it
  double step_loads = 0;             // that wait for each other
  int max_blocks = 0;                // of an SM, as registers allow
  int shared_bytes = 0;              // of a block
  std::string_view origin;
};
const AttentionBackwardCost& attention_backward_cost();

// Costs of attention, which are assumed.
inline constexpr double kLoadCycles = 300 + 70;  // of one load that waits: a round trip to L2, and its instructions
inline constexpr double kInstructionCycles = 5;  // of an instruction of a warp whose four neighbours issue, too
inline constexpr double kIssueShare = 0.45;      // of its time: instructions bound it; latency the rest

// Costs of a complete step.
inline constexpr int kHostReads = 1;       // a step's, each with a wait (tests/census)
inline constexpr int kUploadsOfBlock = 2;  // of the sentences, and of the scalars (tests/census)

}  // namespace weft
