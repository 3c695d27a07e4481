// tests/emulation/ptx/shared_races.cpp: compares an access with the last load and store since the last barrier.
#include "tests/emulation/ptx/shared_races.h"

#include <string>

#include "tests/emulation/ptx/program.h"

namespace weft::emulation::ptx {
namespace {

bool share_warp(int thread, int other) { return thread / kLanes == other / kLanes; }

}  // namespace

void SharedRaces::start_block() {
  if (num_copied_ != 0)  // by threads that left without awaiting them
    for (Unit& unit : units_) unit.is_copied = false;
  num_copied_ = 0;
  pass_barrier();
}

bool SharedRaces::is_ordered(const Event& earlier, const Access& access) {  // `earlier` is since the last barrier
  if (earlier.by_other_warps) return false;
  if (share_warp(earlier.thread, access.thread) && earlier.warp_time != access.warp_time) return true;
  return earlier.thread == access.thread && !earlier.by_others_of_warp;
}

void SharedRaces::check(const Unit& unit, const Event& earlier, const Access& access, const char* what) {
  if (unit.is_copied)
    throw Error("line " + std::to_string(access.line) + ": thread " + std::to_string(access.thread) +
                " accesses shared memory while the asynchronous copy of line " + std::to_string(unit.store.line) +
                " may write it");
  if (!is_ordered(earlier, access))
    throw Error("line " + std::to_string(access.line) + ": thread " + std::to_string(access.thread) +
                " races for shared memory with the " + what + " of line " + std::to_string(earlier.line) +
                " by thread " + std::to_string(earlier.thread) + ": no barrier is between them");
}

void SharedRaces::add_load(Event& last, const Access& access) const {
  if (!share_warp(last.thread, access.thread)) {
    last.by_other_warps = true;
  } else if (last.warp_time != access.warp_time && !last.by_other_warps) {
    last = now(access);
  } else if (last.thread != access.thread) {
    last.by_others_of_warp = true;
  }
}

void SharedRaces::set_copied(size_t at, size_t bytes, bool is_copied) {
  for (size_t i = at / kUnit; i * kUnit < at + bytes; ++i) {
    units_[i].is_copied = is_copied;
    num_copied_ += is_copied ? 1 : size_t(-1);
  }
}

void SharedRaces::begin_copy(size_t at, size_t bytes, const Access& access) {
  store(at, bytes, access);
  set_copied(at, bytes, true);
}

void SharedRaces::end_copy(size_t at, size_t bytes, const Access& access) {
  set_copied(at, bytes, false);
  store(at, bytes, access);
}

}  // namespace weft::emulation::ptx
