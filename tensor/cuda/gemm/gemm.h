// tensor/cuda/gemm/gemm.h: GEMMs with cuBLASLt; each kind is planned once and cached.
//
// A plan's algorithm is the first that cuBLASLt's heuristic proposes, with cuBLASLt's epilogue where it has one. That
// depends only on the GEMM, the library and the GPU's model, so ranks and resumed runs compute the same bits. Tuning
// (Context::Runtime::tune) times all proposals, and our own passes against the epilogue. Repeated tuning may choose
// differently, so a run keeps its choices (gemm_choices.h). Either way sums have one fixed order, and f32 is multiplied
// as f32, not as TF32.
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

  // Returns cuBLASLt's plan for all of `key` in one call, made on first use, or nullptr if there is none or separate
  // passes are chosen.
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
