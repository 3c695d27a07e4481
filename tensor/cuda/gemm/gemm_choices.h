// tensor/cuda/gemm/gemm_choices.h: the fastest way to compute each GEMM, timed once and kept as text (train.tune_gemm).
//
// The text's first line names the format, the GPU's model and the version of cuBLASLt, because a proposal's number
// means nothing elsewhere. Each further line contains a GEMM, a tab, the number of the proposal, a tab, and `fused` or
// `separate`.
#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "tensor/cuda/gemm/gemm_plan.h"

namespace weft::cuda {

struct GemmChoice {
  size_t proposal = 0;    // the index of an algorithm among those that cuBLASLt proposes
  bool separate = false;  // our own passes follow the product, instead of cuBLASLt's epilogue
};

class GemmChoices {
 public:
  // Makes no choices if the text is empty or its first line differs. Throws an io Error if the text is corrupt.
  explicit GemmChoices(const std::string& text);
  std::string text() const;

  const GemmChoice* find(const GemmKey& key) const;  // nullptr if there is none
  void set(const GemmKey& key, GemmChoice choice);

 private:
  std::map<std::string, GemmChoice> by_gemm_;
};

}  // namespace weft::cuda
