// tensor/cuda/gemm/gemm.h: computes GEMMs with cuBLASLt. Each kind of GEMM (GemmKey) is planned once and cached.
//
// By default, a plan uses the first algorithm that cuBLASLt's heuristic proposes, and cuBLASLt's epilogue if there is
// one. This choice depends only on the GEMM, the library and the GPU's model, so ranks and resumed runs compute the
// same bits. Tuning (Context::Runtime::tune) times all proposals, and our own passes against the epilogue. Another
// tuning may choose differently, so a run keeps its choices (gemm_choices.h). With any choice, sums have a fixed order,
// and f32 is multiplied as f32, not as TF32.
#pragma once

#include <map>
#include <memory>

#include "tensor/cuda/gemm/gemm_choices.h"
#include "tensor/cuda/gemm/gemm_plan.h"

namespace weft::cuda {

class GemmPlans {  // per GPU; one thread at a time may use it
 public:
  explicit GemmPlans(const GemmChoices& choices);
  ~GemmPlans();
  GemmPlans(const GemmPlans&) = delete;
  GemmPlans& operator=(const GemmPlans&) = delete;

  // Returns the plan for one cuBLASLt call that computes all of `key`, and makes the plan on first use. Returns nullptr
  // if cuBLASLt has no algorithm or separate passes are chosen.
  GemmPlan* find(const GemmKey& key, const GemmOperands& operands, const GemmQueue& queue);
  cublasLtHandle_t library() const { return library_; }

  const GemmChoices& choices() const { return choices_; }
  void choose(const GemmKey& key, GemmChoice choice);  // replaces the plan
  void set_tuning(bool on) { tuning_ = on; }
  bool must_tune(const GemmKey& key) const { return tuning_ && choices_.find(key) == nullptr; }

 private:
  cublasLtHandle_t library_ = nullptr;
  GemmChoices choices_;
  bool tuning_ = false;
  std::map<GemmKey, std::unique_ptr<GemmPlan>> plans_;  // nullptr if separate passes are chosen
};

}  // namespace weft::cuda
