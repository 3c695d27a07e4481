// tensor/cpu/runtime.h: the CPU backend's state of one Context: GEMM plans and each thread's scratch memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "tensor/context.h"
#include "tensor/memory.h"

namespace weft::cpu {

class GemmPlans;  // gemm.cpp

// Loops over fewer elements run on the calling thread: waking the others would take longer.
inline constexpr int64_t kWorthThreads = 8192;

struct Runtime final : Context::Runtime {
  Runtime();
  ~Runtime() override;

  // `count` floats for each of `threads` threads, uninitialised, kept for the next call; grows only.
  void reserve_scratch(int threads, size_t count);
  float* scratch(int thread) const { return static_cast<float*>(scratch_[static_cast<size_t>(thread)].data()); }

  std::unique_ptr<GemmPlans> gemm;
  std::vector<uint8_t> marks;  // one a row: attention's rows that belong to a sentence

 private:
  std::vector<Buffer> scratch_;
};

std::unique_ptr<Context::Runtime> make_runtime();
inline Runtime& runtime(Context& ctx) { return static_cast<Runtime&>(ctx.runtime()); }

}  // namespace weft::cpu
