// tensor/cpu/gemm/gemm.h: matrix products by oneDNN, each kind of product planned once and kept.
#pragma once

#include <memory>
#include <vector>

#include "tensor/ops.h"

namespace weft::cpu {

struct Runtime;

// A product of fewer multiply-adds runs on the calling thread: waking the others would take longer.
inline constexpr int64_t kWorthThreadsProduct = int64_t{1} << 19;

class UseThreads {  // so many by the calling thread's parallel regions and oneDNN, for the lifetime of this object
 public:
  explicit UseThreads(int count);
  ~UseThreads();
  UseThreads(const UseThreads&) = delete;
  UseThreads& operator=(const UseThreads&) = delete;

 private:
  const int kept_;
};

class GemmPlans {  // used by one thread at a time
 public:
  GemmPlans();
  ~GemmPlans();
  // Of f32 or bf16 operands; `scratch` has scratch_bytes(a).
  void run(const ops::Gemm& a, void* scratch);
  size_t scratch_bytes(const ops::Gemm& a);

 private:
  struct Plans;
  std::unique_ptr<Plans> plans_;
};

bool uses_gemm_blocks();  // whether f32 products go by blocks: where oneDNN may not use AVX-512

class GemmBlocks {  // one a Context: f32 products; a row's bits depend neither on the other rows nor on the threads
 public:
  void reserve(Runtime& run, const ops::Gemm& a);
  void run(Runtime& run, const ops::Gemm& a);  // after reserve

 private:
  std::vector<std::unique_ptr<GemmPlans>> plans_;  // one a thread
  size_t bytes_ = 0;                               // of scratch memory a thread
};

}  // namespace weft::cpu
