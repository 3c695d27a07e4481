// tests/emulation/ptx/shared_races.h: finds races of shared memory: two threads access a byte, at least one of them
// writes, and no barrier orders the accesses (PTX ISA, "Memory Consistency Model").
//
// bar.sync orders the accesses of a block's threads, bar.warp.sync those of a warp's. An asynchronous copy writes from
// its cp.async until its thread awaits it. Accesses are remembered in units of two bytes, the least that kernels store.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace weft::emulation::ptx {

struct Access {
  int thread = 0;          // of the block
  uint32_t warp_time = 0;  // counts the bar.warp.sync of the thread's warp
  int line = 0;            // of the instruction
};

class SharedRaces {
 public:
  explicit SharedRaces(size_t bytes) : units_((bytes + kUnit - 1) / kUnit) {}

  void start_block();
  void pass_barrier() { ++barrier_; }  // all threads have reached it

  // Each function throws an Error that names both lines if the access races.
  void load(size_t at, size_t bytes, const Access& access) {
    for (size_t i = at / kUnit; i * kUnit < at + bytes; ++i) {
      Unit& unit = units_[i];
      if (unit.store.barrier == barrier_ || unit.is_copied) check(unit, unit.store, access, "store");
      if (unit.load.barrier == barrier_)
        add_load(unit.load, access);
      else
        unit.load = now(access);
    }
  }
  void store(size_t at, size_t bytes, const Access& access) {
    for (size_t i = at / kUnit; i * kUnit < at + bytes; ++i) {
      Unit& unit = units_[i];
      if (unit.store.barrier == barrier_ || unit.is_copied) check(unit, unit.store, access, "store");
      if (unit.load.barrier == barrier_) check(unit, unit.load, access, "load");
      unit.store = now(access);
    }
  }
  void begin_copy(size_t at, size_t bytes, const Access& access);
  void end_copy(size_t at, size_t bytes, const Access& access);

 private:
  static constexpr size_t kUnit = 2;  // bytes
  struct Event {
    uint32_t barrier = 0, warp_time = 0;
    int line = 0;
    int16_t thread = 0;
    bool by_others_of_warp = false, by_other_warps = false;  // since the barrier, besides `thread`
  };
  struct Unit {
    Event load, store;
    bool is_copied = false;  // an asynchronous copy to it is under way
  };

  Event now(const Access& access) const {
    return {barrier_, access.warp_time, access.line, static_cast<int16_t>(access.thread)};
  }
  void set_copied(size_t at, size_t bytes, bool is_copied);
  static bool is_ordered(const Event& earlier, const Access& access);
  static void check(const Unit& unit, const Event& earlier, const Access& access, const char* what);
  void add_load(Event& last, const Access& access) const;

  std::vector<Unit> units_;
  uint32_t barrier_ = 0;
  size_t num_copied_ = 0;  // units
};

}  // namespace weft::emulation::ptx
