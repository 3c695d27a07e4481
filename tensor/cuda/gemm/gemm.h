// tensor/cuda/gemm/gemm.h: GEMMs with cuBLASLt; each kind is planned once and cached.
//
// A plan's algorithm is the first that cuBLASLt's heuristic proposes. It depends only on the GEMM, the
// library and the GPU's model, so ranks and resumed runs compute the same bits. With WEFT_TUNE_GEMM=1 in the
// environment, the first few candidates are timed when a GEMM is first used, and the fastest is taken: two
// runs may then choose differently and differ in the last bits. Either way sums have one fixed order, and f32
// is multiplied as f32, not as TF32.
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

  // cuBLASLt's plan for all of `a` in one call, made on first use; nullptr if there is none.
  GemmPlan* find(const ops::Gemm& a, const GemmOperands& operands, const GemmQueue& queue);
  cublasLtHandle_t library() const { return library_; }

 private:
  cublasLtHandle_t library_ = nullptr;
  bool tune_;
  std::map<GemmKey, GemmPlan> plans_;
};

}  // namespace weft::cuda
