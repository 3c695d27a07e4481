// tensor/cuda/gemm/gemm_plan.h: one kind of product as cuBLASLt is told it: descriptor, layouts, algorithm.
//
// cuBLASLt's matrices are column-major; a row-major matrix is the same memory as its transpose in columns. So for
// C = op(A) op(B) it computes C^T = op(B)^T op(A)^T: our b is its A, our a its B, and our bias, one value a column, its
// bias, one value a row. A column slice is a leading dimension.
#pragma once

#include <cublasLt.h>

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "tensor/ops.h"

namespace weft::cuda {

inline constexpr size_t kGemmWorkspaceBytes = size_t{32} << 20;  // what cuBLASLt's algorithms for H100 ask for at most

struct GemmKey {  // what an algorithm may depend on
  int64_t m, n, k, a_stride, b_stride, c_stride;
  bool trans_a, trans_b, bias, accumulate, d_bias, saves;  // saves: or reads what was saved
  ops::Epilogue::Kind epilogue;
  Activation activation;
  DType ab, c;
  uint32_t a_alignment, b_alignment, c_alignment, bias_alignment, saved_alignment;  // of the addresses, in bytes
  auto operator<=>(const GemmKey&) const = default;
};
std::string description(const GemmKey& key);  // for messages

struct GemmOperands {
  const void *a, *b;
  const void* bias;   // in c's storage: added, or the gradient, which is written; nullptr if the plan has none
  const void* saved;  // of the activation, written or read; nullptr likewise
  void* c;
};

// From one row of what an activation saves to the next, as cuBLASLt asks for. relu saves a bit an element, whether it
// was positive, the others their inputs.
int64_t saved_stride(Activation activation, int64_t cols);

struct GemmQueue {  // where products go
  cublasLtHandle_t library;
  cudaStream_t stream;
  void* workspace;  // of kGemmWorkspaceBytes
};

class GemmPlan {
 public:
  // `like`: operands as they will be; their addresses say how they are aligned. `tune`: time candidates instead of
  // taking the heuristic's first.
  GemmPlan(const GemmQueue& queue, const GemmKey& key, const GemmOperands& like, bool tune);
  GemmPlan(const GemmPlan&) = delete;
  GemmPlan& operator=(const GemmPlan&) = delete;

  bool is_possible() const { return is_possible_; }  // whether cuBLASLt has an algorithm for this product
  // False, and from then on not possible, if cuBLASLt refuses now what it proposed for a product with an ending.
  bool run(const GemmQueue& queue, const GemmOperands& operands) {
    return is_possible_ = run(queue, operands, algorithm_);
  }

 private:
  void describe(const GemmKey& key, const GemmOperands& like);
  void point_to(const GemmOperands& operands);
  void choose(const GemmQueue& queue, const GemmKey& key, bool tune);
  bool run(const GemmQueue& queue, const GemmOperands& operands, const cublasLtMatmulAlgo_t& algorithm);

  cublasLtMatmulDescOpaque_t operation_;
  cublasLtMatrixLayoutOpaque_t a_, b_, c_;
  cublasLtMatmulAlgo_t algorithm_;
  float beta_;  // what c is multiplied with before the product is added: 0 or 1
  bool bias_, saves_, ends_, is_possible_ = false;
};

// gemm_tuning.cpp: the fastest of `count` candidates, each run a few times on operands of its own; one that is refused
// is none. The first if all are.
size_t fastest_candidate(const GemmQueue& queue, const GemmKey& key, size_t count,
                         const std::function<bool(size_t candidate, const GemmOperands&)>& run);

void check(cublasStatus_t status, const char* what);  // an Error for what a call of cuBLASLt says

}  // namespace weft::cuda
