// tensor/cpu/gemm/gemm.h: computes GEMMs with oneDNN. Each combination of shapes and types is planned once and cached.
#pragma once

#include <memory>
#include <vector>

#include "tensor/ops.h"

namespace weft::cpu {

struct Runtime;

// GEMMs with fewer multiply-adds run on the calling thread, because waking the other threads would take longer.
inline constexpr int64_t kWorthThreadsProduct = int64_t{1} << 19;

class UseThreads {  // sets the number of threads of oneDNN and of parallel regions during its lifetime
 public:
  explicit UseThreads(int count);
  ~UseThreads();
  UseThreads(const UseThreads&) = delete;
  UseThreads& operator=(const UseThreads&) = delete;

 private:
  const int kept_;
};

class GemmPlans {  // one thread at a time may use it
 public:
  GemmPlans();
  ~GemmPlans();
  // REQUIRES: f32 or bf16 operands, and scratch_bytes(a) bytes at `scratch`.
  void run(const ops::Gemm& a, void* scratch);
  size_t scratch_bytes(const ops::Gemm& a);

 private:
  struct Plans;
  std::unique_ptr<Plans> plans_;
};

bool uses_gemm_blocks();  // true if f32 GEMMs run in blocks, because oneDNN cannot use AVX-512

class GemmBlocks {  // computes f32 GEMMs in which a row's bits depend neither on other rows nor on the threads
 public:
  void reserve(Runtime& run, const ops::Gemm& a);
  void run(Runtime& run, const ops::Gemm& a);  // call reserve first

 private:
  std::vector<std::unique_ptr<GemmPlans>> plans_;  // one plan set per thread
  size_t bytes_ = 0;                               // scratch memory per thread
};

}  // namespace weft::cpu
