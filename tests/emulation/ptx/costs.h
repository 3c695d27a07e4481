// tests/emulation/ptx/costs.h: counts what an execution would cost on a GPU: instructions, sectors of global memory,
// passes over the banks of shared memory, and loads that wait for one another.
#pragma once

#include <cstdint>
#include <vector>

#include "tests/emulation/ptx/program.h"

namespace weft::emulation::ptx {

struct Counts {
  int64_t blocks = 0, warp_instructions = 0, lane_instructions = 0, divergent_branches = 0;
  // Only with a CostMeter:
  int64_t issued = 0;           // warp_instructions without those that ptxas makes part of others
  int64_t global_accesses = 0;  // of warps
  int64_t sectors = 0;          // of 32 bytes that these touch
  int64_t shared_accesses = 0;  // of warps
  int64_t shared_passes = 0;    // over the 32 banks of 4 bytes; without conflicts, as many as the bytes need
  int64_t bank_conflicts = 0;   // passes beyond those
  int64_t load_chains = 0;      // a block's longest chain of loads, of which each needs the one before; sum over blocks

  void add(const Counts& other);
};

class Warp;

// Watches a warp. A value's depth is the number of loads from global memory that it has waited for. Branches and
// barriers hand depths on: what follows a branch waits for its condition, and what follows a barrier for all values
// that the block has stored in shared memory.
class CostMeter {
 public:
  explicit CostMeter(const Program& program);
  void start_block();
  void see(Warp& warp, const Instruction& instruction, Mask lanes, Counts& counts);
  int stored_depth() const { return stored_; }
  void pass_barrier(int depth) { control_ = std::max(control_, depth); }
  int longest_chain() const { return longest_; }

 private:
  int& depth(const Operand& operand) { return depths_[operand.place / sizeof(Mask)]; }
  int depth_of_inputs(const Instruction& instruction);

  std::vector<int> depths_;                    // by the place of a register
  int control_ = 0;                            // of what decided that this instruction runs
  int stored_ = 0, copied_ = 0, longest_ = 0;  // of values in shared memory; of asynchronous copies
};

}  // namespace weft::emulation::ptx
