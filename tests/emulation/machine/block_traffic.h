// tests/emulation/machine/block_traffic.h: the accesses of memory of a block's warps, and their sum by kernel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "tests/emulation/runtime/traffic.h"

namespace weft::emulation {

class BlockTraffic {
 public:
  struct Access {
    int lane;
    uintptr_t address;
    size_t bytes;
  };
  enum class Kind { load, store, shared };

  void note(int warp, const void* instruction, Kind kind, Access access);
  void finish(const void* kernel);  // the block has ended: adds its traffic to the kernel's, and forgets it

  // Accesses at once, such as those of a warp's lanes.
  static Traffic::Share sectors(const std::vector<Access>& lanes);
  static Traffic::Share bank_cycles(const std::vector<Access>& lanes);

 private:
  std::map<std::tuple<int, int, const void*, Kind>, int64_t> times_;                     // by warp and lane
  std::map<std::tuple<int, const void*, Kind, int64_t>, std::vector<Access>> accesses_;  // by warp and time
};

}  // namespace weft::emulation
