// tests/emulation/machine/late_copies.h: a thread's asynchronous copies to shared memory (PTX ISA, cp.async): made when
// the thread awaits them, as late as possible.
#pragma once

#include <cstddef>
#include <cstring>
#include <utility>
#include <vector>

#include "tests/emulation/runtime/device.h"

namespace weft::emulation {

class LateCopies {
 public:
  void add(const LateCopy& copy) { copies_.emplace_back(group_, copy); }
  void end_group() { ++group_; }
  void await(int left) {
    std::erase_if(copies_, [&](const auto& entry) {
      if (entry.first >= group_ - left) return false;
      const LateCopy& copy = entry.second;
      if (copy.from == nullptr) {
        std::memset(copy.to, 0, copy.bytes);
      } else {
        std::memcpy(copy.to, copy.from, copy.bytes);
      }
      return true;
    });
  }
  void forget() { copies_.clear(); }  // those that a thread left without awaiting

 private:
  int group_ = 0;
  std::vector<std::pair<int, LateCopy>> copies_;  // with their groups
};

}  // namespace weft::emulation
