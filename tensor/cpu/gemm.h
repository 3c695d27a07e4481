// tensor/cpu/gemm.h: matrix products by oneDNN, each kind of product planned once and kept.
#pragma once

#include <memory>
#include <vector>

#include "tensor/ops.h"

namespace weft::cpu {

struct Runtime;

// A product of fewer multiply-adds runs on the calling thread: waking the others would take longer.
inline constexpr int64_t kWorthThreadsProduct = int64_t{1} << 19;

class GemmPlans {  // one a Context; used by one thread at a time
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

class GemmBlocks {  // one a Context: f32 products of which a row is the same whatever the other rows and the threads
 public:
  void reserve(Runtime& run, const ops::Gemm& a);
  void run(Runtime& run, const ops::Gemm& a);  // after reserve

 private:
  std::vector<std::unique_ptr<GemmPlans>> plans_;  // one a thread
  size_t bytes_ = 0;                               // of scratch memory a thread
};

}  // namespace weft::cpu
