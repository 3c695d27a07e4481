// tests/emulation/cublas_lt/cublas_lt_fixture.h: test fixture for complete calls of the emulated cuBLASLt.
#pragma once

#include <cublasLt.h>
#include <functional>
#include <vector>

#include "tensor/half.h"
#include "tests/emulation/runtime_tests/device_fixture.h"

namespace weft::testing {

using Floats = std::vector<float>;

inline Floats numbers(int64_t count, int seed) {  // multiples of 1/8 between -2 and 2, which bf16 holds too
  Floats values;
  for (int64_t i = 0; i < count; ++i) values.push_back(static_cast<float>((i * 37 + seed * 101) % 33 - 16) / 8);
  return values;
}

// A complete call, from descriptors to results. Tests change single members.
struct Call {
  int64_t m = 6, n = 5, k = 7;
  bool trans_a = false, trans_b = false;
  cudaDataType_t ab = CUDA_R_32F, cd = CUDA_R_32F;
  cublasComputeType_t compute = CUBLAS_COMPUTE_32F;
  int64_t a_extra = 4, b_extra = 4, d_extra = 4;  // padding of the leading dimensions, which are even
  uint32_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  int64_t aux_ld = 0;
  float alpha = 1, beta = 0;
  uint32_t reduction_mask = CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
  uint64_t max_workspace = 1 << 20;
  uint32_t promised_alignment = 256;
  size_t a_offset = 0;  // bytes
};

class CublasLt : public DeviceTest {
 protected:
  CublasLt() { EXPECT_EQ(cublasLtCreate(&handle_), CUBLAS_STATUS_SUCCESS); }
  ~CublasLt() override { (void)cublasLtDestroy(handle_); }

  char* upload(const Floats& values, cudaDataType_t type = CUDA_R_32F, size_t offset = 0) {
    std::vector<BFloat16> halves;
    for (float x : values) halves.push_back(from_float<BFloat16>(x));
    const bool is_half = type == CUDA_R_16BF;
    const size_t bytes = values.size() * (is_half ? 2 : 4);
    char* const data = fresh<char>(bytes + offset) + offset;
    const void* const from = is_half ? static_cast<const void*>(halves.data()) : values.data();
    EXPECT_CUDA(cudaMemcpy(data, from, bytes, cudaMemcpyHostToDevice));
    return data;
  }
  Floats download(const void* data, size_t count, cudaDataType_t type = CUDA_R_32F) {
    if (type == CUDA_R_32F) return on_host(static_cast<const float*>(data), count);
    Floats values;
    for (BFloat16 x : on_host(static_cast<const BFloat16*>(data), count)) values.push_back(to_float(x));
    return values;
  }

  static int64_t even(int64_t n) { return (n + 1) / 2 * 2; }

  void describe(const Call& call) {
    ASSERT_EQ(cublasLtMatmulDescInit(&operation_, call.compute, CUDA_R_32F), CUBLAS_STATUS_SUCCESS);
    set(CUBLASLT_MATMUL_DESC_TRANSA, int32_t{call.trans_a});
    set(CUBLASLT_MATMUL_DESC_TRANSB, int32_t{call.trans_b});
    set(CUBLASLT_MATMUL_DESC_EPILOGUE, call.epilogue);
    set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias_);
    set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, aux_);
    set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, call.aux_ld);
    const int64_t a_rows = call.trans_a ? call.k : call.m, a_cols = call.trans_a ? call.m : call.k;
    const int64_t b_rows = call.trans_b ? call.n : call.k, b_cols = call.trans_b ? call.k : call.n;
    layout(a_, call.ab, a_rows, a_cols, even(a_rows) + call.a_extra);
    layout(b_, call.ab, b_rows, b_cols, even(b_rows) + call.b_extra);
    layout(d_, call.cd, call.m, call.n, even(call.m) + call.d_extra);
  }
  template <typename Value>
  void set(cublasLtMatmulDescAttributes_t attribute, Value value) {
    ASSERT_EQ(cublasLtMatmulDescSetAttribute(&operation_, attribute, &value, sizeof(value)), CUBLAS_STATUS_SUCCESS);
  }
  template <typename Value>
  void prefer(cublasLtMatmulPreferenceAttributes_t attribute, Value value) {
    ASSERT_EQ(cublasLtMatmulPreferenceSetAttribute(&preference_, attribute, &value, sizeof(value)),
              CUBLAS_STATUS_SUCCESS);
  }
  static void layout(cublasLtMatrixLayoutOpaque_t& layout, cudaDataType_t type, int64_t rows, int64_t cols,
                     int64_t ld) {
    ASSERT_EQ(cublasLtMatrixLayoutInit(&layout, type, static_cast<uint64_t>(rows), static_cast<uint64_t>(cols), ld),
              CUBLAS_STATUS_SUCCESS);
  }

  // The algorithms that are proposed for described matrices.
  cublasStatus_t propose(const Call& call) {
    EXPECT_EQ(cublasLtMatmulPreferenceInit(&preference_), CUBLAS_STATUS_SUCCESS);
    prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, call.max_workspace);
    prefer(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, call.reduction_mask);
    for (auto attribute : {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
                           CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES})
      prefer(attribute, call.promised_alignment);
    proposed_.assign(8, {});
    int found = 0;
    const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(handle_, &operation_, &a_, &b_, &d_, &d_, &preference_,
                                                                 8, proposed_.data(), &found);
    proposed_.resize(static_cast<size_t>(found));
    return status;
  }

  cublasStatus_t multiply(const Call& call, const void* a, const void* b, void* d, size_t workspace_bytes = 1 << 20) {
    if (workspace_ == nullptr) workspace_ = fresh<char>(1 << 20);
    return cublasLtMatmul(handle_, &operation_, &call.alpha, a, &a_, b, &b_, &call.beta, d, &d_, d, &d_,
                          &proposed_.at(0).algo, workspace_, workspace_bytes, stream_);
  }

  // Makes the call; gives D's columns, or the first error status.
  cublasStatus_t run(const Call& call) {
    describe(call);
    const cublasStatus_t status = propose(call);
    if (status != CUBLAS_STATUS_SUCCESS) return status;
    host_a_ = numbers(a_.ld * static_cast<int64_t>(a_.cols), 1);
    host_b_ = numbers(b_.ld * static_cast<int64_t>(b_.cols), 2);
    host_c_ = numbers(d_.ld * static_cast<int64_t>(d_.cols), 3);
    device_d_ = upload(host_c_, call.cd);
    const cublasStatus_t done =
        multiply(call, upload(host_a_, call.ab, call.a_offset), upload(host_b_, call.ab), device_d_);
    if (done == CUBLAS_STATUS_SUCCESS) result_ = download(device_d_, host_c_.size(), call.cd);
    return done;
  }

  // alpha op(A) op(B) + beta C by loops in double, which these numbers make exact.
  double product(const Call& call, int64_t i, int64_t j) const {
    double sum = 0;
    for (int64_t p = 0; p < call.k; ++p)
      sum += double{at(host_a_, call.trans_a ? p + i * a_.ld : i + p * a_.ld)} *
             double{at(host_b_, call.trans_b ? j + p * b_.ld : p + j * b_.ld)};
    return call.alpha * sum + call.beta * at(host_c_, i + j * d_.ld);
  }
  static float at(const Floats& values, int64_t index) { return values.at(static_cast<size_t>(index)); }
  float result(int64_t i, int64_t j) const { return at(result_, i + j * d_.ld); }

  void expect_results(const Call& call, const std::function<double(double product, int64_t i, int64_t j)>& want,
                      double tolerance = 1e-6) const {
    for (int64_t j = 0; j < call.n; ++j)
      for (int64_t i = 0; i < call.m; ++i)
        ASSERT_NEAR(result(i, j), want(product(call, i, j), i, j), tolerance) << "row " << i << " column " << j;
  }

  cublasLtHandle_t handle_ = nullptr;
  cudaStream_t stream_ = new_stream();
  cublasLtMatmulDescOpaque_t operation_{};
  cublasLtMatrixLayoutOpaque_t a_{}, b_{}, d_{};
  cublasLtMatmulPreferenceOpaque_t preference_{};
  std::vector<cublasLtMatmulHeuristicResult_t> proposed_;
  const void* bias_ = nullptr;
  void* aux_ = nullptr;
  char *workspace_ = nullptr, *device_d_ = nullptr;
  Floats host_a_, host_b_, host_c_, result_;
};

}  // namespace weft::testing
