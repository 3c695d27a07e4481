// tests/emulation/machine/executor.h: runs a kernel on one host thread: blocks one after the other in a
// shuffled order, the threads of a block as fibres that yield only where they must wait.
//
// Between two barriers the threads run in any order, mostly warp by warp: a result that depends on the order
// shows a missing barrier. A thread that never waits needs no fibre of its own; the next one runs on the same
// fibre.
#pragma once

#include <cuda_runtime.h>

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tests/emulation/machine/fiber.h"
#include "tests/emulation/machine/late_copies.h"
#include "tests/emulation/machine/limits.h"
#include "tests/emulation/runtime/device.h"
#include "tests/emulation/runtime/random.h"

namespace weft::emulation {

struct Kernel {
  const void* address = nullptr;
  std::function<void()> thread;  // the kernel with its arguments
  dim3 grid, block;
  size_t shared_bytes = 0;
  SharedMemory (*shared)() = nullptr;
};

class Executor {
 public:
  static Executor& of_this_thread();
  static Executor& running() { return *running_; }  // the executor of the calling kernel

  void run(const Kernel& kernel, uint64_t seed);  // throws if the kernel is faulty: barriers that do not match

  // Device code calls these on the calling thread's fiber.
  void synchronize_threads(Place where);
  void meet(unsigned mask, void* deposit, Meeting meeting, const char* what, Place where);
  LateCopies& copies() { return current_->copies; }
  int lane() const { return static_cast<int>(current_ - threads_.data()) % kWarpSize; }

 private:
  struct Thread {
    uint3 index{};
    Fiber* fiber = nullptr;  // set when it has started
    // Location of the wait, and the lanes that it waits for.
    const char* what = nullptr;
    Place where;
    unsigned mask = 0;
    Meeting meeting = nullptr;
    void* deposit = nullptr;
    LateCopies copies;
  };
  struct Warp {
    uint32_t lanes = 0;       // existing lanes
    uint32_t ready = 0;       // can run: not started yet, or their wait is over
    uint32_t meeting = 0;     // waiting for other lanes
    uint32_t at_barrier = 0;  // waiting for the block
  };

  void lay_out(const Kernel& kernel);
  void run_block(const Kernel& kernel, uint64_t block);
  static void work(Fiber& self, void* executor);
  void work_on(Fiber& self);

  Thread* choose();                   // takes a thread that can run; nullptr: there is none
  Fiber& continuation(Thread* next);  // makes `next` current; gives its fibre, or the host's for nullptr
  Fiber& idle_fiber();
  void wait(const char* what, Place where);
  void make_ready(int warp, uint32_t lanes);
  [[noreturn]] void leave_for_good();  // after fault_ is set; objects on the fibre are not destroyed
  std::string who_waits() const;
  int warp_of(const Thread& thread) const { return static_cast<int>(&thread - threads_.data()) / kWarpSize; }

  static __thread Executor* running_ __attribute__((tls_model("initial-exec")));
  Random random_{0};
  const std::function<void()>* kernel_ = nullptr;
  SharedMemory shared_{};
  std::vector<Thread> threads_;
  std::array<Warp, kMaxThreads / kWarpSize> warps_;
  int num_warps_ = 0, warp_ = 0;  // warp_: the running one
  bool is_patient_ = false;       // the running warp continues until it must wait, and so gets far ahead of the others
  uint32_t ready_warps_ = 0;
  size_t num_arrived_ = 0, num_left_ = 0;
  Place barrier_;
  Thread* current_ = nullptr;
  std::string fault_;

  Fiber host_;
  std::vector<std::unique_ptr<Fiber>> fibers_;
  std::vector<Fiber*> idle_;  // fibres without a thread
};

}  // namespace weft::emulation
