// tests/emulation/machine/executor.cpp: runs the blocks of a grid and the threads of a block.
#include "tests/emulation/machine/executor.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>

#include "tests/emulation/machine/machine.h"
#include "tests/emulation/machine/sanitizer.h"
#include "tests/emulation/runtime/error.h"

__thread uint3 threadIdx;
__thread uint3 blockIdx;
__thread dim3 blockDim;
__thread dim3 gridDim;

namespace weft::emulation {
namespace {

constexpr uint64_t kStay = 8;  // in every other block, one of so many choices leaves the warp before it has to wait

std::string place(Place where) { return std::string(where.file_name()) + ":" + std::to_string(where.line()); }
bool same(const Place& a, const Place& b) { return a.line() == b.line() && a.column() == b.column(); }

// Dynamic shared memory beyond the size of the launch must not be used.
class DynamicShared {
 public:
  DynamicShared(const SharedMemory& memory, size_t bytes)
      : rest_(memory.dynamic + bytes), bytes_(memory.dynamic_capacity - bytes) {
    poison(rest_, bytes_);
  }
  ~DynamicShared() { unpoison(rest_, bytes_); }
  DynamicShared(const DynamicShared&) = delete;
  DynamicShared& operator=(const DynamicShared&) = delete;

 private:
  std::byte* rest_;
  size_t bytes_;
};

}  // namespace

__thread Executor* Executor::running_;

Executor& Executor::of_this_thread() {
  thread_local const std::unique_ptr<Executor> executor = std::make_unique<Executor>();
  return *executor;
}

void Executor::lay_out(const Kernel& kernel) {
  const dim3& block = kernel.block;
  threads_.clear();
  for (unsigned z = 0; z < block.z; ++z)
    for (unsigned y = 0; y < block.y; ++y)
      for (unsigned x = 0; x < block.x; ++x) threads_.push_back({.index = {x, y, z}});
  const int count = static_cast<int>(threads_.size());
  num_warps_ = (count + kWarpSize - 1) / kWarpSize;
  for (int w = 0; w < num_warps_; ++w) {
    const int lanes = std::min(kWarpSize, count - w * kWarpSize);
    warps_[static_cast<size_t>(w)].lanes = lanes == kWarpSize ? ~0u : (1u << lanes) - 1;
  }
}

void Executor::run(const Kernel& kernel, uint64_t seed) {
  running_ = this;
  random_ = Random(seed);
  kernel_ = &kernel.thread;
  lay_out(kernel);
  blockDim = kernel.block;
  gridDim = kernel.grid;
  shared_ = kernel.shared();
  const DynamicShared limited(shared_, kernel.shared_bytes);
  const uint64_t num_blocks = uint64_t{kernel.grid.x} * kernel.grid.y * kernel.grid.z;
  Permutation order(num_blocks, random_);
  for (uint64_t i = 0; i < num_blocks; ++i) run_block(kernel, order.next());
}

void Executor::run_block(const Kernel& kernel, uint64_t block) {
  const uint64_t row = block / kernel.grid.x;
  blockIdx = {static_cast<unsigned>(block % kernel.grid.x), static_cast<unsigned>(row % kernel.grid.y),
              static_cast<unsigned>(row / kernel.grid.y)};
  std::memset(shared_.begin, 0xFF, static_cast<size_t>(shared_.dynamic - shared_.begin) + kernel.shared_bytes);

  for (Thread& thread : threads_) {
    thread.fiber = nullptr;
    thread.copies.forget();
  }
  ready_warps_ = 0;
  for (int w = 0; w < num_warps_; ++w) {
    Warp& warp = warps_[static_cast<size_t>(w)];
    warp.ready = warp.meeting = warp.at_barrier = 0;
    make_ready(w, warp.lanes);
  }
  const uint64_t draw = random_.next();
  is_patient_ = draw % 2 == 0;
  warp_ = pick_one(ready_warps_, draw >> 8);  // not the last block's final warp
  num_arrived_ = num_left_ = 0;
  fault_.clear();
  host_.switch_to(continuation(choose()));  // returns when no thread can run

  if (num_left_ == threads_.size()) return;
  if (fault_.empty()) fault_ = "threads wait for others that will not come: " + who_waits();
  idle_.clear();
  for (const auto& fiber : fibers_) {
    fiber->restart();
    idle_.push_back(fiber.get());
  }
  fail(cudaErrorLaunchFailure, "block (" + std::to_string(blockIdx.x) + "," + std::to_string(blockIdx.y) + "," +
                                   std::to_string(blockIdx.z) + "): " + fault_);
}

void Executor::work(Fiber& self, void* executor) { static_cast<Executor*>(executor)->work_on(self); }

void Executor::work_on(Fiber& self) {
  for (;;) {
    (*kernel_)();
    ++num_left_;
    Thread* const next = choose();
    if (next != nullptr && next->fiber == nullptr) {  // starts on this fibre
      next->fiber = &self;
      continuation(next);
    } else {
      idle_.push_back(&self);
      self.switch_to(continuation(next));  // returns with another current thread
    }
  }
}

Executor::Thread* Executor::choose() {
  if (ready_warps_ == 0) return nullptr;
  const uint64_t draw = random_.next();
  if ((ready_warps_ >> warp_ & 1u) == 0 || (!is_patient_ && draw % kStay == 0))
    warp_ = pick_one(ready_warps_, draw >> 8);
  Warp& warp = warps_[static_cast<size_t>(warp_)];
  const int lane = pick_one(warp.ready, draw >> 16);
  warp.ready &= ~(1u << lane);
  if (warp.ready == 0) ready_warps_ &= ~(1u << warp_);
  return &threads_[static_cast<size_t>(warp_ * kWarpSize + lane)];
}

Fiber& Executor::continuation(Thread* next) {
  if (next == nullptr) return host_;
  current_ = next;
  threadIdx = next->index;
  if (next->fiber == nullptr) next->fiber = &idle_fiber();
  return *next->fiber;
}

Fiber& Executor::idle_fiber() {
  if (idle_.empty()) {
    fibers_.push_back(std::make_unique<Fiber>(work, this, fibers_.size()));
    return *fibers_.back();
  }
  Fiber& fiber = *idle_.back();
  idle_.pop_back();
  return fiber;
}

void Executor::make_ready(int warp, uint32_t lanes) {
  warps_[static_cast<size_t>(warp)].ready |= lanes;
  if (lanes != 0) ready_warps_ |= 1u << warp;
}

void Executor::wait(const char* what, Place where) {
  Thread& self = *current_;
  self.what = what;
  self.where = where;
  self.fiber->switch_to(continuation(choose()));
}

void Executor::synchronize_threads(Place where) {
  Thread& self = *current_;
  const int mine = warp_of(self);
  if (num_arrived_ == 0) barrier_ = where;
  if (!same(barrier_, where)) {
    fault_ = "a thread is in __syncthreads at " + place(where) + " while others are at " + place(barrier_);
    leave_for_good();
  }
  const uint32_t bit = 1u << lane();
  if (++num_arrived_ < threads_.size()) {
    warps_[static_cast<size_t>(mine)].at_barrier |= bit;
    wait("__syncthreads", where);
    return;
  }
  num_arrived_ = 0;
  for (int w = 0; w < num_warps_; ++w) {
    Warp& warp = warps_[static_cast<size_t>(w)];
    make_ready(w, std::exchange(warp.at_barrier, 0));
  }
}

void Executor::meet(unsigned mask, void* deposit, Meeting meeting, const char* what, Place where) {
  Thread& self = *current_;
  const int mine = warp_of(self);
  Warp& warp = warps_[static_cast<size_t>(mine)];
  const uint32_t bit = 1u << lane();
  if ((mask & bit) == 0) {
    fault_ = std::string(what) + " at " + place(where) + " with a mask without the lane that calls";
    leave_for_good();
  }
  self.mask = mask;
  self.deposit = deposit;
  self.meeting = meeting;
  warp.meeting |= bit;

  Thread* const first = &threads_[static_cast<size_t>(mine * kWarpSize)];
  bool complete = (warp.meeting & mask) == mask;
  for (int i = 0; complete && i < kWarpSize; ++i)
    if ((mask >> i & 1u) != 0) complete = first[i].mask == mask && first[i].meeting == meeting;
  if (!complete) return wait(what, where);

  void* deposits[kWarpSize];
  for (int i = 0; i < kWarpSize; ++i) deposits[i] = (mask >> i & 1u) != 0 ? first[i].deposit : nullptr;
  meeting(mask, deposits);
  warp.meeting &= ~mask;
  make_ready(mine, mask & ~bit);
}

void Executor::leave_for_good() {
  current_->fiber->switch_to(host_);
  std::abort();
}

std::string Executor::who_waits() const {
  std::map<std::string, int> places;
  for (const Thread& thread : threads_) {
    const Warp& warp = warps_[static_cast<size_t>(warp_of(thread))];
    const uint32_t bit = 1u << (&thread - threads_.data()) % kWarpSize;
    if (((warp.meeting | warp.at_barrier) & bit) != 0)
      ++places[std::string(thread.what) + " at " + place(thread.where)];
  }
  std::string text;
  for (const auto& [where, count] : places) text += std::to_string(count) + " are in " + where + ", ";
  return text + std::to_string(num_left_) + " of " + std::to_string(threads_.size()) + " have left";
}

int lane() { return Executor::running().lane(); }
void copy_later(const LateCopy& copy) { Executor::running().copies().add(copy); }
void end_copy_group() { Executor::running().copies().end_group(); }
void await_copies(int left) { Executor::running().copies().await(left); }

void meet(unsigned mask, void* deposit, Meeting meeting, const char* what, std::source_location where) {
  Executor::running().meet(mask, deposit, meeting, what, where);
}

}  // namespace weft::emulation
