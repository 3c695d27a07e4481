// tensor/cuda/gemm/gemm_plan.cpp: describes a GEMM to cuBLASLt, and takes one of the algorithms that cuBLASLt proposes.
#include "tensor/cuda/gemm/gemm_plan.h"

#include <array>

#include "tensor/cuda/runtime/runtime.h"
#include "tensor/error.h"

namespace weft::cuda {
namespace {

cudaDataType_t type_of(DType t) { return t == DType::bf16 ? CUDA_R_16BF : t == DType::f16 ? CUDA_R_16F : CUDA_R_32F; }

// Describes a row-major [rows, cols] to cuBLASLt.
void describe_matrix(cublasLtMatrixLayoutOpaque_t& layout, DType dtype, int64_t rows, int64_t cols,
                     int64_t row_stride) {
  check(cublasLtMatrixLayoutInit(&layout, type_of(dtype), static_cast<uint64_t>(cols), static_cast<uint64_t>(rows),
                                 row_stride),
        "cublasLtMatrixLayoutInit");
}

template <typename Value>
void set(cublasLtMatmulDescOpaque_t& operation, cublasLtMatmulDescAttributes_t attribute, Value value) {
  check(cublasLtMatmulDescSetAttribute(&operation, attribute, &value, sizeof(value)), "cublasLtMatmulDescSetAttribute");
}

template <typename Value>
void set(cublasLtMatmulPreferenceOpaque_t& preference, cublasLtMatmulPreferenceAttributes_t attribute, Value value) {
  check(cublasLtMatmulPreferenceSetAttribute(&preference, attribute, &value, sizeof(value)),
        "cublasLtMatmulPreferenceSetAttribute");
}

cublasLtEpilogue_t epilogue_of(const GemmKey& key) {
  using Kind = ops::Epilogue::Kind;
  constexpr cublasLtEpilogue_t kActivations[2][2][2] = {
      // [relu][saves][bias]
      {{CUBLASLT_EPILOGUE_GELU, CUBLASLT_EPILOGUE_GELU_BIAS},
       {CUBLASLT_EPILOGUE_GELU_AUX, CUBLASLT_EPILOGUE_GELU_AUX_BIAS}},
      {{CUBLASLT_EPILOGUE_RELU, CUBLASLT_EPILOGUE_RELU_BIAS},
       {CUBLASLT_EPILOGUE_RELU_AUX, CUBLASLT_EPILOGUE_RELU_AUX_BIAS}}};
  const bool relu = key.activation == Activation::relu;
  if (key.epilogue == Kind::activate) return kActivations[relu][key.saves][key.bias];
  if (key.epilogue == Kind::differentiate) return relu ? CUBLASLT_EPILOGUE_DRELU : CUBLASLT_EPILOGUE_DGELU;
  if (key.d_bias) return CUBLASLT_EPILOGUE_BGRADB;  // sums our a, which is cuBLASLt's B
  return key.bias ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT;
}

cublasLtMatmulPreferenceOpaque_t preference_for(const GemmKey& key) {
  cublasLtMatmulPreferenceOpaque_t preference;
  check(cublasLtMatmulPreferenceInit(&preference), "cublasLtMatmulPreferenceInit");
  set(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, uint64_t{kGemmWorkspaceBytes});
  // A long sum may be split only if its parts are kept as f32 and added in one step, not accumulated in c.
  set(preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, uint32_t{CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE});
  set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, key.b_alignment);
  set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, key.a_alignment);
  set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, key.c_alignment);
  set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, key.c_alignment);
  return preference;
}

// Library versions report what they do not support, such as an epilogue or a stride, in one of these ways. Separate
// passes or a kernel of our own then replace the call.
bool is_refusal(cublasStatus_t status) {
  return status == CUBLAS_STATUS_NOT_SUPPORTED || status == CUBLAS_STATUS_INVALID_VALUE;
}

}  // namespace

std::string description(const GemmKey& key) {
  return fmt::format("a {} GEMM [{}, {}]{} x [{}, {}]{} into {} (row strides {}, {} and {})", name_of(key.ab), key.m,
                     key.k, key.trans_a ? " transposed" : "", key.k, key.n, key.trans_b ? " transposed" : "",
                     name_of(key.c), key.a_stride, key.b_stride, key.c_stride);
}

void check(cublasStatus_t status, const char* what) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  if (status == CUBLAS_STATUS_ALLOC_FAILED) fail_without_memory(what);
  fail(ErrorKind::internal,
       fmt::format("cuBLASLt: {} failed ({}): {}", what, current_device(), cublasLtGetStatusName(status)));
}

int64_t saved_stride(Activation activation, int64_t cols) {
  const int64_t multiple = activation == Activation::relu ? 128 : 8;
  return (cols + multiple - 1) / multiple * multiple;
}

GemmPlan::GemmPlan(const GemmQueue& queue, const GemmKey& key, const GemmOperands& like, size_t proposal)
    : beta_(key.accumulate ? 1.0f : 0.0f),
      bias_(key.bias || key.d_bias),
      saves_(key.saves),
      may_refuse_(epilogue_of(key) != CUBLASLT_EPILOGUE_DEFAULT || proposal > 0) {
  describe(key, like);
  take(queue, key, proposal);
}

void GemmPlan::describe(const GemmKey& key, const GemmOperands& like) {
  const auto op = [](bool transposed) { return transposed ? CUBLAS_OP_T : CUBLAS_OP_N; };
  check(cublasLtMatmulDescInit(&operation_, CUBLAS_COMPUTE_32F, CUDA_R_32F), "cublasLtMatmulDescInit");
  set(operation_, CUBLASLT_MATMUL_DESC_TRANSA, op(key.trans_b));
  set(operation_, CUBLASLT_MATMUL_DESC_TRANSB, op(key.trans_a));
  set(operation_, CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue_of(key));
  if (saves_) set(operation_, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, saved_stride(key.activation, key.n));
  point_to(like);
  describe_matrix(a_, key.ab, key.trans_a ? key.k : key.m, key.trans_a ? key.m : key.k, key.a_stride);
  describe_matrix(b_, key.ab, key.trans_b ? key.n : key.k, key.trans_b ? key.k : key.n, key.b_stride);
  describe_matrix(c_, key.c, key.m, key.n, key.c_stride);
}

void GemmPlan::point_to(const GemmOperands& operands) {
  if (bias_) set(operation_, CUBLASLT_MATMUL_DESC_BIAS_POINTER, operands.bias);
  if (saves_) set(operation_, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, operands.saved);
}

void GemmPlan::take(const GemmQueue& queue, const GemmKey& key, size_t proposal) {
  std::array<cublasLtMatmulHeuristicResult_t, kMaxProposals> proposals{};
  cublasLtMatmulPreferenceOpaque_t preference = preference_for(key);
  int found = 0;
  const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(queue.library, &operation_, &b_, &a_, &c_, &c_,
                                                               &preference, kMaxProposals, proposals.data(), &found);
  if (is_refusal(status)) return;
  check(status, description(key).c_str());
  if (proposal >= static_cast<size_t>(found)) return;
  is_possible_ = proposals[proposal].state == CUBLAS_STATUS_SUCCESS;
  algorithm_ = proposals[proposal].algo;
}

bool GemmPlan::run(const GemmQueue& queue, const GemmOperands& operands) {
  const float alpha = 1;
  point_to(operands);
  const cublasStatus_t status =
      cublasLtMatmul(queue.library, &operation_, &alpha, operands.b, &b_, operands.a, &a_, &beta_, operands.c, &c_,
                     operands.c, &c_, &algorithm_, queue.workspace, kGemmWorkspaceBytes, queue.stream);
  is_possible_ = !(may_refuse_ && is_refusal(status));
  if (!is_possible_) return false;
  check(status, "GEMM");
  note_launch("gemm");
  return true;
}

}  // namespace weft::cuda
