// tests/emulation/ptx/warp.cpp: runs the instructions of a warp, path by path.
#include "tests/emulation/ptx/warp.h"

#include <algorithm>
#include <bit>
#include <climits>
#include <cstring>
#include <string>

namespace weft::emulation::ptx {
namespace {

constexpr int64_t kMostInstructions = int64_t{1} << 30;  // of all warps of a launch, half a minute

[[noreturn]] void refuse(const Instruction& instruction, const std::string& what) {
  throw Error("line " + std::to_string(instruction.line) + ": " + what);
}

}  // namespace

// Registers start as NaN, so that a result that depends on an undefined one shows.
Warp::Warp(const Program& program, int index, bool measures_costs)
    : program_(program), index_(index), registers_(program.register_bytes / sizeof(Line)) {
  std::memset(registers_.data(), 0xFF, program.register_bytes);
  if (measures_costs) costs_.emplace(program);
}

void Warp::start(Mask lanes, BlockMemory& memory, BlockSectors& sectors) {
  live_ = lanes;
  memory_ = &memory;
  at_barrier_ = false;
  ready_ = {{.next = 0, .lanes = lanes}};
  waiting_.clear();
  if (costs_) costs_->start_block(sectors);
}

void Warp::pass_barrier() {
  at_barrier_ = false;
  std::swap(ready_, waiting_);
}

void Warp::run(Counts& counts) {
  while (!ready_.empty()) advance(take_first(), counts);
  if (!waiting_.empty() && !at_barrier_)
    refuse(program_.code[static_cast<size_t>(waiting_[0].next)], "lanes wait for others that do not come");
}

Warp::Path Warp::take_first() {
  const auto first = std::ranges::min_element(ready_, {}, &Path::next);
  Path path = *first;
  ready_.erase(first);
  merge(path);
  return path;
}

void Warp::find_limit() {
  limit_ = INT_MAX;
  for (const Path& path : ready_) limit_ = std::min(limit_, path.next);
}

void Warp::merge(Path& path) {
  for (std::vector<Path>* others : {&ready_, &waiting_})
    std::erase_if(*others, [&](const Path& other) {
      if (other.next != path.next) return false;
      path.lanes |= other.lanes;
      return true;
    });
  find_limit();
}

// Runs the path until it ends, waits, or another path is behind it.
void Warp::advance(Path path, Counts& counts) {
  for (;;) {
    if (path.next >= limit_ || !waiting_.empty()) merge(path);
    if (path.next > limit_) return ready_.push_back(path);
    const Instruction& i = program_.code[static_cast<size_t>(path.next)];
    const Mask guard = i.guard < 0 ? kAllLanes : *lanes<Mask>({.place = static_cast<uint32_t>(i.guard)});
    const Mask active = path.lanes & (i.negated ? ~guard : guard);
    if (++counts.warp_instructions == kMostInstructions) refuse(i, "the kernel does not end");
    counts.lane_instructions += std::popcount(active);
    const bool may_wait = i.form->flow == Flow::barrier || i.form->flow == Flow::together;
    if (costs_ && !may_wait) costs_->see(*this, i, active, counts);
    switch (i.form->flow) {
      case Flow::next:
        if (active != 0) i.form->execute(*this, i, active);
        break;
      case Flow::branch:
        if (active == 0) break;
        if (active == path.lanes) {
          path.next = i.target - 1;
        } else {
          ++counts.divergent_branches;
          ready_.push_back({.next = i.target, .lanes = active});
          path.lanes &= ~active;
          find_limit();
        }
        break;
      case Flow::leave:
        live_ &= ~active, path.lanes &= ~active;
        if (path.lanes == 0) return;
        break;
      case Flow::barrier:
      case Flow::together:
        if (active != 0 && must_wait(i, active)) return waiting_.push_back(path);
        if (costs_) costs_->see(*this, i, active, counts);
        if (active != 0 && i.form->flow == Flow::together) i.form->execute(*this, i, active);
        if (i.form->flow == Flow::barrier) {
          at_barrier_ = true;
          return waiting_.push_back({.next = path.next + 1, .lanes = path.lanes});
        }
        break;
    }
    ++path.next;
  }
}

bool Warp::must_wait(const Instruction& i, Mask active) {
  Mask together = live_;
  if (!i.form->is_aligned) {
    const uint32_t* const masks = lanes<uint32_t>(i.operands[i.form->mask]);
    together = masks[std::countr_zero(active)] & live_;
    if ((active & ~together) != 0) refuse(i, i.form->name + " by a lane that its mask does not contain");
  }
  return (together & ~active) != 0;
}

}  // namespace weft::emulation::ptx
