// tensor/cpu/gemm.h: matrix products by oneDNN, each kind of product planned once and kept.
#pragma once

#include <memory>

#include "tensor/ops.h"

namespace weft::cpu {

class GemmPlans {  // one a Context; used by one thread at a time
 public:
  GemmPlans();
  ~GemmPlans();
  void run(const ops::Gemm& a);                // of f32 or bf16 operands
  Tensor widened(int which, const Tensor& t);  // room for operand `which` as f32 if it is f16, else itself

 private:
  struct Plans;
  std::unique_ptr<Plans> plans_;
};

}  // namespace weft::cpu
