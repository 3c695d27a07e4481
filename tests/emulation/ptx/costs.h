// tests/emulation/ptx/costs.h: counts what an execution would cost on a GPU: instructions, sectors of global memory,
// cycles of the banks of shared memory, and loads that wait for one another.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "tests/emulation/ptx/program.h"

namespace weft::emulation::ptx {

struct Counts {
  int64_t blocks = 0, warp_instructions = 0, lane_instructions = 0, divergent_branches = 0;
  // Only with a CostMeter:
  struct Share {
    int64_t moved = 0;   // by the accesses as they are
    int64_t needed = 0;  // by accesses of the same bytes without gaps and conflicts
  };
  double issued = 0;                    // instructions of machine code, estimated by issue_slots()
  int64_t load_chains = 0;              // each block's longest chain of loads, of which each needs the one before
  Share loads, stores;                  // sectors, each counted once a block: what L2 moves for the misses of L1
  Share loads_at_once, stores_at_once;  // sectors, counted for each access of a warp: the work of L1
  Share shared;                         // cycles of the banks

  void add(const Counts& other);
};

// Returns about how many instructions ptxas makes of one: moves and conversions of addresses vanish, two operations of
// logic become one, 64-bit integers take two, divisions and square roots a sequence. Over the 200 kernels that
// nvcc 13.0 compiles for 9.0, machine code has 1.10 times as many instructions as this adds up to (median; of half of
// the kernels 1.03 to 1.17, of four fifths 0.95 to 1.47, with the most where ptxas unrolls loops).
double issue_slots(const std::string& instruction);

class Warp;

// What a warp accesses at once: the addresses of its active lanes, each of the same number of bytes.
struct WarpAccess {
  std::array<uint64_t, kLanes> addresses;
  int lanes = 0;
  uint64_t bytes = 0;

  Counts::Share sectors() const;
  Counts::Share bank_cycles() const;
};

// The bytes that a block accesses: a bit for each byte of a sector.
class BlockSectors {
 public:
  void note(const WarpAccess& access, bool is_store);
  void finish(Counts& counts);  // adds the block's sectors, and forgets them

 private:
  std::unordered_map<uint64_t, uint32_t> loads_, stores_;
};

// Watches a warp. A value's depth is the number of loads from global memory that it has waited for. Branches and
// barriers hand depths on: what follows a branch waits for its condition, and what follows a barrier for all values
// that the block has stored in shared memory.
class CostMeter {
 public:
  explicit CostMeter(const Program& program);
  void start_block(BlockSectors& sectors);
  void see(Warp& warp, const Instruction& instruction, Mask lanes, Counts& counts);
  int stored_depth() const { return stored_; }
  void pass_barrier(int depth) { control_ = std::max(control_, depth); }
  int longest_chain() const { return longest_; }

 private:
  int& depth(const Operand& operand) { return depths_[operand.place / sizeof(Mask)]; }
  int depth_of_inputs(const Instruction& instruction);
  void access(Warp& warp, const Instruction& instruction, Mask lanes, Counts& counts);

  BlockSectors* sectors_ = nullptr;
  std::vector<int> depths_;                    // by the place of a register
  int control_ = 0;                            // of what decided that this instruction runs
  int stored_ = 0, copied_ = 0, longest_ = 0;  // of values in shared memory; of asynchronous copies
};

}  // namespace weft::emulation::ptx
