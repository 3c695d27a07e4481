// tests/emulation/ptx/kernel.h: runs a decoded kernel: its blocks one after the other, in an order chosen by a seed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tests/emulation/ptx/memory.h"
#include "tests/emulation/ptx/program.h"
#include "tests/emulation/ptx/warp.h"

namespace weft::emulation::ptx {

struct Launch {
  std::array<uint32_t, 3> grid{1, 1, 1}, block{1, 1, 1};
  size_t dynamic_shared_bytes = 0;
  std::span<const std::vector<std::byte>> arguments;
  const Allocations* allocations = nullptr;
  CopyTime copies = CopyTime::random;
  uint64_t seed = 0;  // of the orders of blocks and warps, and of random copies
  bool measures_costs = false;
};

// Throws an Error that names the kernel, the file and the line if the kernel is faulty.
Counts run(const Program& program, const Globals& globals, const Launch& launch);

}  // namespace weft::emulation::ptx
