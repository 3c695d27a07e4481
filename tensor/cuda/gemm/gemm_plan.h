// tensor/cuda/gemm/gemm_plan.h: cuBLASLt's view of one kind of GEMM: descriptor, layouts, algorithm.
//
// cuBLASLt's matrices are column-major; a row-major matrix is the same memory as its column-major transpose.
// So for C = op(A) op(B) it computes C^T = op(B)^T op(A)^T: our b is its A, our a its B, and our bias, one
// value per column, its bias, one value per row. A column slice is a leading dimension.
#pragma once

#include <cublasLt.h>

#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>

#include "tensor/ops.h"

namespace weft::cuda {

inline constexpr size_t kGemmWorkspaceBytes = size_t{32} << 20;  // the most that cuBLASLt requests on H100
inline constexpr int kMaxProposals = 4;                          // algorithms that cuBLASLt is asked for

struct GemmKey {  // everything that the choice of an algorithm depends on
  int64_t m, n, k, a_stride, b_stride, c_stride;
  bool trans_a, trans_b, bias, accumulate, d_bias, saves;  // saves: writes or reads saved values
  ops::Epilogue::Kind epilogue;
  Activation activation;
  DType ab, c;
  uint32_t a_alignment, b_alignment, c_alignment, bias_alignment, saved_alignment;  // of the addresses, in bytes
  auto operator<=>(const GemmKey&) const = default;
};
std::string description(const GemmKey& key);  // for messages

struct GemmOperands {
  const void *a, *b;
  const void* bias;   // in c's storage: the bias to add, or the gradient to write; or nullptr
  const void* saved;  // of the activation, written or read; or nullptr
  void* c;
};

// Row stride of what an activation saves, as cuBLASLt requires it. relu saves one bit per element, set if it
// was positive; the others save their inputs.
int64_t saved_stride(Activation activation, int64_t cols);

struct GemmQueue {  // where GEMMs are enqueued
  cublasLtHandle_t library;
  cudaStream_t stream;
  void* workspace;  // of kGemmWorkspaceBytes
};

class GemmPlan {
 public:
  // `like`: operands as in the real calls; their addresses give the alignment. `proposal`: which of cuBLASLt's
  // proposals to take.
  GemmPlan(const GemmQueue& queue, const GemmKey& key, const GemmOperands& like, size_t proposal);
  GemmPlan(const GemmPlan&) = delete;
  GemmPlan& operator=(const GemmPlan&) = delete;

  bool is_possible() const { return is_possible_; }  // whether cuBLASLt made this proposal
  // Returns false, and stays impossible, if cuBLASLt now rejects an algorithm that it proposed for an
  // epilogue, or later than its first.
  bool run(const GemmQueue& queue, const GemmOperands& operands);

 private:
  void describe(const GemmKey& key, const GemmOperands& like);
  void point_to(const GemmOperands& operands);
  void take(const GemmQueue& queue, const GemmKey& key, size_t proposal);

  cublasLtMatmulDescOpaque_t operation_;
  cublasLtMatrixLayoutOpaque_t a_, b_, c_;
  cublasLtMatmulAlgo_t algorithm_;
  float beta_;  // factor of c before the result is added: 0 or 1
  bool bias_, saves_, may_refuse_, is_possible_ = false;
};

void check(cublasStatus_t status, const char* what);  // throws an Error if a cuBLASLt call failed

}  // namespace weft::cuda
