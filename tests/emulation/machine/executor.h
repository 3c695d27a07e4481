// tests/emulation/machine/executor.h: runs a kernel on one thread of the host: its blocks one after the other in a
// shuffled order, a block's threads as fibres that give way only where they have to wait.
//
// Between two barriers the threads run in any order, warp by warp for the most part: where a result depends on it, a
// barrier is missing. A thread that never waits needs no fibre of its own; the next one runs behind it on the same.
#pragma once

#include <cuda_runtime.h>

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tests/emulation/machine/fiber.h"
#include "tests/emulation/machine/limits.h"
#include "tests/emulation/runtime/device.h"
#include "tests/emulation/runtime/random.h"

namespace weft::emulation {

struct Kernel {
  std::function<void()> thread;  // the kernel with its arguments
  dim3 grid, block;
  size_t shared_bytes = 0;
  SharedMemory (*shared)() = nullptr;
};

class Executor {
 public:
  static Executor& of_this_thread();
  static Executor& running() { return *running_; }  // the one whose kernel calls

  void run(const Kernel& kernel, uint64_t seed);  // throws what makes it no sound kernel: barriers that do not meet

  // For device code, on the fibre of the thread that calls.
  void synchronize_threads(Place where);
  void meet(unsigned mask, void* deposit, Meeting meeting, const char* what, Place where);
  int lane() const { return static_cast<int>(current_ - threads_.data()) % kWarpSize; }

 private:
  struct Thread {
    uint3 index{};
    Fiber* fiber = nullptr;  // once it has begun
    // Where it waits, and for whom.
    const char* what = nullptr;
    Place where;
    unsigned mask = 0;
    Meeting meeting = nullptr;
    void* deposit = nullptr;
  };
  struct Warp {
    uint32_t lanes = 0;       // that there are
    uint32_t ready = 0;       // may run: not begun yet, or what they waited for has come
    uint32_t meeting = 0;     // wait for other lanes
    uint32_t at_barrier = 0;  // wait for the block
  };

  void lay_out(const Kernel& kernel);
  void run_block(const Kernel& kernel, uint64_t block);
  static void work(Fiber& self, void* executor);
  void work_on(Fiber& self);

  Thread* choose();                   // one that may run, no longer ready from then on; nullptr: there is none
  Fiber& continuation(Thread* next);  // where `next` goes on, made the current thread; without one, the host's stack
  Fiber& idle_fiber();
  void wait(const char* what, Place where);
  void make_ready(int warp, uint32_t lanes);
  [[noreturn]] void leave_for_good();  // after fault_ is said; nothing on the fibre is destroyed
  std::string who_waits() const;
  int warp_of(const Thread& thread) const { return static_cast<int>(&thread - threads_.data()) / kWarpSize; }

  static __thread Executor* running_ __attribute__((tls_model("initial-exec")));
  Random random_{0};
  const std::function<void()>* kernel_ = nullptr;
  std::vector<Thread> threads_;
  std::array<Warp, kMostThreads / kWarpSize> warps_;
  int num_warps_ = 0, warp_ = 0;  // the one that runs
  bool is_patient_ = false;       // that one runs until it has to wait, and so gets far ahead of the others
  uint32_t ready_warps_ = 0;
  size_t num_arrived_ = 0, num_left_ = 0;
  Place barrier_;
  Thread* current_ = nullptr;
  std::string fault_;

  Fiber host_;
  std::vector<std::unique_ptr<Fiber>> fibers_;
  std::vector<Fiber*> idle_;  // that wait for a thread to run
};

}  // namespace weft::emulation
