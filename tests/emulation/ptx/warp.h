// tests/emulation/ptx/warp.h: a warp: the registers of its lanes, and the paths on which they are.
//
// Lanes that have taken different branches are on different paths. The path with the least instruction runs first, so
// that paths meet again as early as they can (PTX allows any order). An instruction for several lanes together waits
// until all of them are there.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "tests/emulation/ptx/costs.h"
#include "tests/emulation/ptx/memory.h"
#include "tests/emulation/ptx/program.h"

namespace weft::emulation::ptx {

class Warp {
 public:
  Warp(const Program& program, int index, bool measures_costs = false);

  void start(Mask lanes, BlockMemory& memory, BlockSectors& sectors);  // a block
  void run(Counts& counts);  // until all lanes have ended or wait at a barrier of the block
  bool has_ended() const { return live_ == 0; }
  void pass_barrier();

  template <typename T>
  T* lanes(const Operand& operand) {
    return reinterpret_cast<T*>(reinterpret_cast<std::byte*>(registers_.data()) + operand.place);
  }
  Mask& predicate(const Operand& operand) { return *lanes<Mask>(operand); }
  BlockMemory& memory() { return *memory_; }
  int thread(int lane) const { return index_ * kLanes + lane; }
  uint64_t address(const Operand& operand, int lane) {
    const auto offset = static_cast<uint64_t>(operand.offset);
    if (operand.bytes == 4) return static_cast<uint32_t>(lanes<uint32_t>(operand)[lane] + offset);
    return lanes<uint64_t>(operand)[lane] + offset;
  }
  CostMeter* costs() { return costs_ ? &*costs_ : nullptr; }

  Mask carry = 0;     // the condition code of extended-precision arithmetic
  uint32_t time = 0;  // counts bar.warp.sync, which order the lanes' accesses

 private:
  struct Path {
    int next = 0;  // instruction
    Mask lanes = 0;
  };
  struct alignas(64) Line {
    std::array<std::byte, 64> bytes;
  };

  Path take_first();
  void advance(Path path, Counts& counts);
  bool must_wait(const Instruction& instruction, Mask lanes);
  void merge(Path& path);
  void find_limit();

  const Program& program_;
  int index_;
  std::vector<Line> registers_;
  BlockMemory* memory_ = nullptr;
  Mask live_ = 0;
  bool at_barrier_ = false;
  std::vector<Path> ready_, waiting_;  // waiting_: for lanes of other paths
  int limit_ = 0;                      // least next instruction of the ready paths
  std::optional<CostMeter> costs_;
};

}  // namespace weft::emulation::ptx
