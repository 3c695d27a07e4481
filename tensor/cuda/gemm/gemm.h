// tensor/cuda/gemm/gemm.h: matrix products by cuBLASLt, each kind of product planned once and kept.
//
// A plan's algorithm is the first that cuBLASLt's heuristic proposes: it depends on the product, the library and the
// GPU's model alone, so ranks and resumed runs compute the same bits. WEFT_TUNE_GEMM=1 in the environment takes the
// fastest of the first few instead, each timed once when the product is first met: two runs may then choose
// differently, and differ in the last bits. Either way sums are added up in one fixed order, and f32 is multiplied as
// f32, not as TF32.
#pragma once

#include <map>

#include "tensor/cuda/gemm/gemm_plan.h"

namespace weft::cuda {

class GemmPlans {  // of one GPU; used by one thread at a time
 public:
  GemmPlans();
  ~GemmPlans();
  GemmPlans(const GemmPlans&) = delete;
  GemmPlans& operator=(const GemmPlans&) = delete;

  // cuBLASLt's plan for all of `a` in one call, made when it is first asked for; nullptr if it has none.
  GemmPlan* find(const ops::Gemm& a, const GemmOperands& operands, const GemmQueue& queue);
  cublasLtHandle_t library() const { return library_; }

 private:
  cublasLtHandle_t library_ = nullptr;
  bool tune_;
  std::map<GemmKey, GemmPlan> plans_;
};

}  // namespace weft::cuda
