// tests/emulation/cublas_lt/cublas_lt.cpp: the emulated cuBLASLt's calls: they check the requirements of
// NVIDIA's documentation and enqueue the GEMM, which is computed asynchronously.
//
// Its algorithms require operands aligned to 16 or 4 bytes for every type, so it has none for 16-bit matrices
// with odd strides. Split-K algorithms for long sums are proposed first, as they may be on a real GPU.
#include <cublasLt.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <vector>

#include "tests/emulation/cublas_lt/cublas_lt_product.h"
#include "tests/emulation/runtime/device.h"

namespace weft::emulation {
namespace {

constexpr uint64_t kMaxRows = INT32_MAX;

// "Table of supported data types": f32 sums of f32, or of 16-bit values into these or f32.
bool is_supported(const cublasLtMatmulDescOpaque_t& operation, cudaDataType_t a, cudaDataType_t b, cudaDataType_t c,
                  cudaDataType_t d) {
  if (operation.compute_type != CUBLAS_COMPUTE_32F || operation.scale_type != CUDA_R_32F) return false;
  if (a != b || c != d || a == CUDA_R_64F) return false;
  return d == CUDA_R_32F || d == a;
}

bool is_known(uint32_t epilogue) {
  constexpr uint32_t kKnown[] = {
      CUBLASLT_EPILOGUE_DEFAULT,   CUBLASLT_EPILOGUE_RELU,        CUBLASLT_EPILOGUE_BIAS,
      CUBLASLT_EPILOGUE_RELU_BIAS, CUBLASLT_EPILOGUE_RELU_AUX,    CUBLASLT_EPILOGUE_RELU_AUX_BIAS,
      CUBLASLT_EPILOGUE_DRELU,     CUBLASLT_EPILOGUE_DRELU_BGRAD, CUBLASLT_EPILOGUE_GELU,
      CUBLASLT_EPILOGUE_GELU_BIAS, CUBLASLT_EPILOGUE_GELU_AUX,    CUBLASLT_EPILOGUE_GELU_AUX_BIAS,
      CUBLASLT_EPILOGUE_DGELU,     CUBLASLT_EPILOGUE_DGELU_BGRAD, CUBLASLT_EPILOGUE_BGRADA,
      CUBLASLT_EPILOGUE_BGRADB};
  return std::find(std::begin(kKnown), std::end(kKnown), epilogue) != std::end(kKnown);
}

bool has_bias(uint32_t epilogue) {
  return has_bits(epilogue, CUBLASLT_EPILOGUE_BIAS) || has_bits(epilogue, kBiasGradient) ||
         has_bits(epilogue, CUBLASLT_EPILOGUE_BGRADA) || has_bits(epilogue, CUBLASLT_EPILOGUE_BGRADB);
}

// Like NVIDIA's library, has no gradient for an inner dimension of 1 or a single bias, and no f32 auxiliary
// output with 16-bit operands.
bool has_kernel(uint32_t epilogue, cudaDataType_t ab, cudaDataType_t d, uint64_t m, uint64_t n, uint64_t k) {
  const bool is_gradient = has_bits(epilogue, kReluGradient) || has_bits(epilogue, kGeluGradient);
  if (k == 1 && (is_gradient || epilogue >= CUBLASLT_EPILOGUE_BGRADA)) return false;
  if ((epilogue == CUBLASLT_EPILOGUE_BGRADA && m == 1) || (epilogue == CUBLASLT_EPILOGUE_BGRADB && n == 1))
    return false;
  return is_gradient || !has_bits(epilogue, kAuxiliary) || ab == d;
}

bool is_right_auxiliary(const cublasLtMatmulDescOpaque_t& operation, int64_t rows) {
  if (!has_bits(operation.epilogue, kAuxiliary)) return true;
  const bool are_bits =
      has_bits(operation.epilogue, CUBLASLT_EPILOGUE_RELU) || has_bits(operation.epilogue, kReluGradient);
  return operation.aux != nullptr && operation.aux_ld >= rows && operation.aux_ld % (are_bits ? 128 : 8) == 0;
}

struct Layouts {
  const cublasLtMatrixLayoutOpaque_t *a, *b, *c, *d;
};

bool is_right_layout(const cublasLtMatrixLayoutOpaque_t* layout) {
  return is_sealed(layout) && layout->rows > 0 && layout->cols > 0 && layout->rows <= kMaxRows &&
         layout->cols <= kMaxRows && layout->ld >= static_cast<int64_t>(layout->rows);
}

bool is_transposed(int32_t op) { return op != CUBLAS_OP_N; }

uint64_t depth(const cublasLtMatmulDescOpaque_t& operation, const Layouts& l) {  // of the sums
  return is_transposed(operation.trans_a) ? l.a->rows : l.a->cols;
}

// D is m x n, op(A) m x k, op(B) k x n.
bool do_shapes_agree(const cublasLtMatmulDescOpaque_t& operation, const Layouts& l) {
  const bool ta = is_transposed(operation.trans_a), tb = is_transposed(operation.trans_b);
  const uint64_t m = ta ? l.a->cols : l.a->rows, k = ta ? l.a->rows : l.a->cols;
  const uint64_t n = tb ? l.b->rows : l.b->cols, depth = tb ? l.b->cols : l.b->rows;
  return k == depth && l.c->rows == m && l.c->cols == n && l.d->rows == m && l.d->cols == n;
}

cublasStatus_t check_problem(cublasLtHandle_t handle, const cublasLtMatmulDescOpaque_t* operation, const Layouts& l) {
  if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (!is_sealed(operation) || !is_right_layout(l.a) || !is_right_layout(l.b) || !is_right_layout(l.c) ||
      !is_right_layout(l.d) || !do_shapes_agree(*operation, l)) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  if (!is_supported(*operation, l.a->type, l.b->type, l.c->type, l.d->type) || !is_known(operation->epilogue))
    return CUBLAS_STATUS_NOT_SUPPORTED;
  if (!is_right_auxiliary(*operation, static_cast<int64_t>(l.d->rows))) return CUBLAS_STATUS_INVALID_VALUE;
  if (!has_kernel(operation->epilogue, l.a->type, l.d->type, l.d->rows, l.d->cols, depth(*operation, l)))
    return CUBLAS_STATUS_NOT_SUPPORTED;
  return CUBLAS_STATUS_SUCCESS;
}

uint64_t alignment_of(uint64_t bits, uint64_t most) {  // the largest power of two that divides `bits`, up to `most`
  return uint64_t{1} << std::countr_zero(bits | most);
}
uint64_t alignment_of(const void* address) { return alignment_of(reinterpret_cast<uintptr_t>(address), 16); }

// Alignment of every column of the matrix, if its first one is aligned to `first` bytes.
uint64_t column_alignment(const cublasLtMatrixLayoutOpaque_t& layout, uint32_t first) {
  const uint64_t address = alignment_of(first, 16);
  if (layout.cols == 1) return address;
  return std::min(address, alignment_of(static_cast<uint64_t>(layout.ld * size_of(layout.type)), 16));
}

uint64_t alignment_of_all(const Layouts& l, const cublasLtMatmulPreferenceOpaque_t& preference) {
  return std::min({column_alignment(*l.a, preference.alignment[0]), column_alignment(*l.b, preference.alignment[1]),
                   column_alignment(*l.c, preference.alignment[2]), column_alignment(*l.d, preference.alignment[3])});
}

std::vector<cublasLtMatmulAlgo_t> algorithms(const cublasLtMatmulDescOpaque_t& operation, const Layouts& l,
                                             const cublasLtMatmulPreferenceOpaque_t& preference) {
  constexpr uint64_t kWorthParts = 96;  // terms of a sum
  const uint64_t alignment = alignment_of_all(l, preference);
  const uint64_t k = depth(operation, l);
  std::vector<cublasLtMatmulAlgo_t> found;
  const auto add = [&](uint32_t needed, int parts, int32_t reduction) {
    const uint64_t workspace = parts > 1 ? l.d->rows * l.d->cols * sizeof(float) * static_cast<uint64_t>(parts) : 0;
    if (alignment < needed || workspace > preference.max_workspace) return;
    if ((static_cast<uint32_t>(reduction) & ~preference.reduction_mask) != 0) return;
    found.push_back({.seal = kSeal,
                     .alignment = needed,
                     .epilogue = operation.epilogue,
                     .parts = parts,
                     .reduction = reduction,
                     .workspace = workspace});
  };
  if (k >= kWorthParts) {
    add(4, 3, CUBLASLT_REDUCTION_SCHEME_INPLACE);
    add(16, 2, CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE);
  }
  add(16, 1, CUBLASLT_REDUCTION_SCHEME_NONE);
  add(4, 1, CUBLASLT_REDUCTION_SCHEME_NONE);
  return found;
}

// Whether the operands keep the promises made to the heuristic, and the descriptors are unchanged.
bool fits(const cublasLtMatmulAlgo_t& algorithm, const cublasLtMatmulDescOpaque_t& operation,
          const void* const (&operands)[4]) {
  if (algorithm.epilogue != operation.epilogue) return false;
  for (const void* operand : operands)
    if (operand == nullptr || alignment_of(operand) < algorithm.alignment) return false;
  return !has_bias(operation.epilogue) || operation.bias != nullptr;
}

bool is_right_workspace(const cublasLtMatmulAlgo_t& algorithm, const void* workspace, size_t bytes) {
  if (algorithm.workspace > bytes) return false;
  return algorithm.workspace == 0 || (workspace != nullptr && reinterpret_cast<uintptr_t>(workspace) % 256 == 0);
}

ColumnMatrix matrix(const void* data, const cublasLtMatrixLayoutOpaque_t& layout) {
  return {const_cast<void*>(data), layout.type, static_cast<int64_t>(layout.rows), static_cast<int64_t>(layout.cols),
          layout.ld};
}

// The heuristic ignores the alignment of the bias, but kernels read it in vectors.
void require_aligned_bias(const ColumnProduct& product) {
  if (product.bias != nullptr && alignment_of(product.bias) < 16)
    throw std::runtime_error("cublasLtMatmul: misaligned address: a bias that is not at a multiple of 16 bytes");
}

// WEFT_EMULATED_CUBLASLT_REFUSES_EPILOGUES=1: the heuristic refuses epilogues, like a library that supports
// fewer; =late: only the matmul call does; =all: the heuristic also refuses products without one.
bool refuses(const cublasLtMatmulDescOpaque_t& operation, const char* when) {
  const char* const setting = std::getenv("WEFT_EMULATED_CUBLASLT_REFUSES_EPILOGUES");
  const bool concerned = operation.epilogue != CUBLASLT_EPILOGUE_DEFAULT || std::strcmp(when, "all") == 0;
  return concerned && setting != nullptr && std::strcmp(setting, when) == 0;
}

}  // namespace
}  // namespace weft::emulation

using namespace weft::emulation;

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t operation,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t preference, int requested,
                                              cublasLtMatmulHeuristicResult_t results[], int* found) {
  if (!is_sealed(preference) || requested <= 0 || results == nullptr || found == nullptr)
    return CUBLAS_STATUS_INVALID_VALUE;
  *found = 0;
  const Layouts layouts{a, b, c, d};
  const cublasStatus_t status = check_problem(handle, operation, layouts);
  if (status != CUBLAS_STATUS_SUCCESS) return status;
  if (refuses(*operation, "1") || refuses(*operation, "all")) return CUBLAS_STATUS_INVALID_VALUE;
  for (const cublasLtMatmulAlgo_t& algorithm : algorithms(*operation, layouts, *preference)) {
    if (*found == requested) break;
    results[(*found)++] = {.algo = algorithm,
                           .workspaceSize = algorithm.workspace,
                           .state = CUBLAS_STATUS_SUCCESS,
                           .wavesCount = 1,
                           .reserved = {}};
  }
  return *found > 0 ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t operation, const void* alpha, const void* a,
                              cublasLtMatrixLayout_t a_layout, const void* b, cublasLtMatrixLayout_t b_layout,
                              const void* beta, const void* c, cublasLtMatrixLayout_t c_layout, void* d,
                              cublasLtMatrixLayout_t d_layout, const cublasLtMatmulAlgo_t* algorithm, void* workspace,
                              size_t workspace_bytes, cudaStream_t stream) {
  const cublasStatus_t status = check_problem(handle, operation, {a_layout, b_layout, c_layout, d_layout});
  if (status != CUBLAS_STATUS_SUCCESS) return status;
  if (alpha == nullptr || beta == nullptr || !is_sealed(algorithm) || !fits(*algorithm, *operation, {a, b, c, d}) ||
      !is_right_workspace(*algorithm, workspace, workspace_bytes) || (c == d && c_layout->ld != d_layout->ld)) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  if (refuses(*operation, "late")) return CUBLAS_STATUS_NOT_SUPPORTED;
  const ColumnProduct product{.a = matrix(a, *a_layout),
                              .b = matrix(b, *b_layout),
                              .c = matrix(c, *c_layout),
                              .d = matrix(d, *d_layout),
                              .trans_a = is_transposed(operation->trans_a),
                              .trans_b = is_transposed(operation->trans_b),
                              .alpha = *static_cast<const float*>(alpha),
                              .beta = *static_cast<const float*>(beta),
                              .epilogue = operation->epilogue,
                              .bias = has_bias(operation->epilogue) ? operation->bias : nullptr,
                              .aux = has_bits(operation->epilogue, kAuxiliary) ? operation->aux : nullptr,
                              .aux_ld = operation->aux_ld,
                              .parts = algorithm->parts,
                              .parts_in_any_order = algorithm->reduction == CUBLASLT_REDUCTION_SCHEME_INPLACE,
                              .workspace = static_cast<float*>(workspace)};
  const cudaError_t enqueued = enqueue(stream,
                                       [product] {
                                         require_device_memory(product);
                                         require_aligned_bias(product);
                                         compute(product);
                                       },
                                       Reach::device, {.what = name_of(product)});
  return enqueued == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}
