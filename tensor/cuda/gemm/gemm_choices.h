// tensor/cuda/gemm/gemm_choices.h: stores the fastest way to compute each GEMM, timed once, as text (train.tune_gemm).
//
// The text's first line names the format, the GPU's model and the version of cuBLASLt, because other GPUs or versions
// number their proposals differently. Each further line contains a GEMM, a tab, the number of the proposal, a tab, and
// `fused` or `separate`.
#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "tensor/cuda/gemm/gemm_plan.h"

namespace weft::cuda {

struct GemmChoice {
  size_t proposal = 0;    // the index of an algorithm in cuBLASLt's list of proposals
  bool separate = false;  // true if our own passes replace cuBLASLt's epilogue
};

class GemmChoices {
 public:
  // Ignores a text whose first line does not match this GPU and cuBLASLt. Throws an io Error if the text is corrupt.
  explicit GemmChoices(const std::string& text);
  std::string text() const;

  const GemmChoice* find(const GemmKey& key) const;  // nullptr if there is none
  void set(const GemmKey& key, GemmChoice choice);

 private:
  std::map<std::string, GemmChoice> by_gemm_;
};

}  // namespace weft::cuda
