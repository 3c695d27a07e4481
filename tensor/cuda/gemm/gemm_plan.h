// tensor/cuda/gemm/gemm_plan.h: describes one kind of GEMM to cuBLASLt: descriptor, layouts, algorithm.
//
// cuBLASLt's matrices are column-major, and a row-major matrix is the same memory as its column-major transpose. So for
// C = op(A) op(B), cuBLASLt computes C^T = op(B)^T op(A)^T: our b is its A, our a is its B, and our bias per column is
// its bias per row. The row stride of a column slice is the leading dimension.
#pragma once

#include <cublasLt.h>

#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>

#include "tensor/ops.h"

namespace weft::cuda {

inline constexpr size_t kGemmWorkspaceBytes = size_t{32} << 20;  // the max requested by cuBLASLt on H100
inline constexpr int kMaxProposals = 4;                          // algorithms requested from cuBLASLt

struct GemmKey {  // everything that the choice of an algorithm depends on
  int64_t m, n, k, a_stride, b_stride, c_stride;
  bool trans_a, trans_b, bias, accumulate, d_bias, saves;  // saves: true if saved values are written or read
  ops::Epilogue::Kind epilogue;
  Activation activation;
  DType ab, c;
  uint32_t a_alignment, b_alignment, c_alignment, bias_alignment, saved_alignment;  // bytes, of addresses
  auto operator<=>(const GemmKey&) const = default;
};
std::string description(const GemmKey& key);  // for messages

struct GemmOperands {
  const void *a, *b;
  const void* bias;   // in c's storage: the bias to add, or the gradient to write; or nullptr
  const void* saved;  // the activation's saved values, written or read; or nullptr
  void* c;
};

// Returns the row stride that cuBLASLt requires of an activation's saved values. relu saves one bit per element, set if
// the element was positive. Other activations save their inputs.
int64_t saved_stride(Activation activation, int64_t cols);

struct GemmQueue {  // where GEMMs are enqueued
  cublasLtHandle_t library;
  cudaStream_t stream;
  void* workspace;  // kGemmWorkspaceBytes long
};

class GemmPlan {
 public:
  // The addresses in `like` are aligned like those of later calls. `proposal` selects one of cuBLASLt's proposals.
  GemmPlan(const GemmQueue& queue, const GemmKey& key, const GemmOperands& like, size_t proposal);
  GemmPlan(const GemmPlan&) = delete;
  GemmPlan& operator=(const GemmPlan&) = delete;

  bool is_possible() const { return is_possible_; }  // true if cuBLASLt made this proposal
  // Returns false if cuBLASLt rejects its own proposal; is_possible() is then false as well. Throws if the rejected
  // proposal was the first one and has no epilogue.
  bool run(const GemmQueue& queue, const GemmOperands& operands);

 private:
  void describe(const GemmKey& key, const GemmOperands& like);
  void point_to(const GemmOperands& operands);
  void take(const GemmQueue& queue, const GemmKey& key, size_t proposal);

  cublasLtMatmulDescOpaque_t operation_;
  cublasLtMatrixLayoutOpaque_t a_, b_, c_;
  cublasLtMatmulAlgo_t algorithm_;
  float beta_;  // 0 or 1: the factor of c before the result is added
  bool bias_, saves_, may_refuse_, is_possible_ = false;
};

void check(cublasStatus_t status, const char* what);  // throws if a cuBLASLt call failed

}  // namespace weft::cuda
