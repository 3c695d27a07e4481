// tensor/cpu/gemm.h: matrix products by oneDNN, each kind of product planned once and kept.
#pragma once

#include <memory>

#include "tensor/ops.h"

namespace weft::cpu {

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

}  // namespace weft::cpu
