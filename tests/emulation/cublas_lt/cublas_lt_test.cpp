// tests/emulation/cublas_lt/cublas_lt_test.cpp: the emulated cuBLASLt follows NVIDIA's documentation.
#include <string>

#include "tests/emulation/cublas_lt/cublas_lt_fixture.h"

namespace weft::testing {
namespace {

TEST_F(CublasLt, MultipliesColumnMajorMatricesOfAnyTransposition) {
  for (int variant = 0; variant < 8; ++variant) {
    const Call call{.trans_a = (variant & 1) != 0,
                    .trans_b = (variant & 2) != 0,
                    .ab = (variant & 4) != 0 ? CUDA_R_16BF : CUDA_R_32F,
                    .alpha = 2,
                    .beta = 0.5f};
    SCOPED_TRACE(variant);
    ASSERT_EQ(run(call), CUBLAS_STATUS_SUCCESS);
    expect_results(call, [](double product, int64_t, int64_t) { return product; });
  }
}

TEST_F(CublasLt, LeavesWhatLiesBetweenColumns) {
  const Call call;
  ASSERT_EQ(run(call), CUBLAS_STATUS_SUCCESS);
  for (int64_t j = 0; j < call.n; ++j)
    for (int64_t i = call.m; i < d_.ld; ++i) EXPECT_EQ(result(i, j), at(host_c_, i + j * d_.ld));
}

TEST_F(CublasLt, BiasIsOneValueARow) {
  const Call call{.ab = CUDA_R_16BF, .cd = CUDA_R_16BF, .epilogue = CUBLASLT_EPILOGUE_BIAS};
  const Floats bias = numbers(call.m, 5);
  bias_ = upload(bias, CUDA_R_16BF);  // of D's type
  ASSERT_EQ(run(call), CUBLAS_STATUS_SUCCESS);
  expect_results(call, [&](double product, int64_t i, int64_t) {
    return to_float(from_float<BFloat16>(static_cast<float>(product) + at(bias, i)));
  });
}

TEST_F(CublasLt, RefusesALeadingDimensionBelowTheRows) {
  for (int64_t Call::*extra : {&Call::a_extra, &Call::b_extra, &Call::d_extra}) {
    Call call{.m = 6, .n = 8, .k = 10};
    call.*extra = -2;
    EXPECT_EQ(run(call), CUBLAS_STATUS_INVALID_VALUE);
  }
}

TEST_F(CublasLt, RefusesShapesThatDoNotAgree) {
  const Call call{.m = 8, .n = 8, .k = 8};
  for (cublasLtMatrixLayoutOpaque_t* changed : {&a_, &b_, &d_}) {
    describe(call);
    changed->cols = 7;
    EXPECT_EQ(propose(call), CUBLAS_STATUS_INVALID_VALUE);
  }
}

TEST_F(CublasLt, RefusesTypesOutsideItsTable) {
  EXPECT_EQ(run({.ab = CUDA_R_32F, .cd = CUDA_R_16BF}), CUBLAS_STATUS_NOT_SUPPORTED);
  EXPECT_EQ(run({.ab = CUDA_R_16BF, .cd = CUDA_R_16F}), CUBLAS_STATUS_NOT_SUPPORTED);
  EXPECT_EQ(run({.compute = CUBLAS_COMPUTE_16F}), CUBLAS_STATUS_NOT_SUPPORTED);
  EXPECT_EQ(run({.epilogue = 3}), CUBLAS_STATUS_NOT_SUPPORTED);
}

TEST_F(CublasLt, RefusesAttributesOfAnotherSize) {
  describe({});
  const int64_t value = 0;
  EXPECT_EQ(cublasLtMatmulDescSetAttribute(&operation_, CUBLASLT_MATMUL_DESC_TRANSA, &value, sizeof(value)),
            CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(cublasLtMatmulDescSetAttribute(&operation_, CUBLASLT_MATMUL_DESC_BIAS_POINTER, nullptr, sizeof(void*)),
            CUBLAS_STATUS_INVALID_VALUE);
}

TEST_F(CublasLt, HasNoAlgorithmFor16BitMatricesOfOddStridesOrAddresses) {
  EXPECT_EQ(run({.ab = CUDA_R_16BF, .b_extra = 1}), CUBLAS_STATUS_NOT_SUPPORTED);
  EXPECT_EQ(run({.ab = CUDA_R_16BF, .promised_alignment = 2}), CUBLAS_STATUS_NOT_SUPPORTED);
  EXPECT_EQ(run({.ab = CUDA_R_32F, .b_extra = 1}), CUBLAS_STATUS_SUCCESS);
}

TEST_F(CublasLt, RefusesAnOperandThatIsLessAlignedThanPromised) {
  Call call{.m = 8, .n = 8, .k = 8, .a_offset = 4};
  EXPECT_EQ(run(call), CUBLAS_STATUS_INVALID_VALUE);
  call.promised_alignment = 4;
  EXPECT_EQ(run(call), CUBLAS_STATUS_SUCCESS);
}

TEST_F(CublasLt, FaultsIfABiasIsNotAlignedWhateverTheHeuristicSaid) {
  const Call call{.epilogue = CUBLASLT_EPILOGUE_BIAS};
  const char* const bias = upload(numbers(call.m + 1, 5));
  bias_ = bias + 4;
  describe(call);
  ASSERT_EQ(propose(call), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(multiply(call, fresh<char>(4096), fresh<char>(4096), fresh<char>(4096)), CUBLAS_STATUS_SUCCESS);
  EXPECT_NE(cudaDeviceSynchronize(), cudaSuccess);
}

// Split-K in place adds the parts in any order.
TEST_F(CublasLt, ProposesOnlyReductionsThatTheMaskAllows) {
  const auto scheme = [&](size_t i) {
    int32_t value = -1;
    EXPECT_EQ(cublasLtMatmulAlgoConfigGetAttribute(&proposed_.at(i).algo, CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME, &value,
                                                   sizeof(value), nullptr),
              CUBLAS_STATUS_SUCCESS);
    return value;
  };
  Call call{.m = 8, .n = 8, .k = 256, .reduction_mask = CUBLASLT_REDUCTION_SCHEME_MASK};
  ASSERT_EQ(run(call), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(scheme(0), CUBLASLT_REDUCTION_SCHEME_INPLACE);
  call.reduction_mask = CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
  ASSERT_EQ(run(call), CUBLAS_STATUS_SUCCESS);
  expect_results(call, [](double product, int64_t, int64_t) { return product; });
  EXPECT_EQ(scheme(0), CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE);
  for (size_t i = 1; i < proposed_.size(); ++i) EXPECT_EQ(scheme(i), CUBLASLT_REDUCTION_SCHEME_NONE);
}

TEST_F(CublasLt, StaysWithinTheWorkspace) {
  Call call{.m = 8, .n = 8, .k = 256, .max_workspace = 0};
  ASSERT_EQ(run(call), CUBLAS_STATUS_SUCCESS);
  for (const auto& proposal : proposed_) EXPECT_EQ(proposal.workspaceSize, 0u);
  call.max_workspace = 1 << 20;
  describe(call);
  ASSERT_EQ(propose(call), CUBLAS_STATUS_SUCCESS);
  const size_t needed = proposed_.at(0).workspaceSize;
  ASSERT_GT(needed, 0u);
  char *const a = fresh<char>(1 << 16), *const b = fresh<char>(1 << 16), *const d = fresh<char>(1 << 16);
  EXPECT_EQ(multiply(call, a, b, d, needed - 1), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(multiply(call, a, b, d, needed), CUBLAS_STATUS_SUCCESS);
}

TEST_F(CublasLt, HostMemoryAsAnOperandIsTheDevicesError) {
  const Call call;
  describe(call);
  ASSERT_EQ(propose(call), CUBLAS_STATUS_SUCCESS);
  alignas(256) static float host[1024];
  ASSERT_EQ(multiply(call, host, fresh<char>(4096), fresh<char>(4096)), CUBLAS_STATUS_SUCCESS);
  const cudaError_t status = cudaStreamSynchronize(stream_);
  EXPECT_NE(status, cudaSuccess);
  EXPECT_NE(std::string(cudaGetErrorString(status)).find("A, "), std::string::npos) << cudaGetErrorString(status);
}

}  // namespace
}  // namespace weft::testing
