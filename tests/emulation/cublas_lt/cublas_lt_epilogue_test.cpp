// tests/emulation/cublas_lt/cublas_lt_epilogue_test.cpp: the emulated cuBLASLt's activations and gradients as
// epilogues.
#include <cmath>

#include "tests/emulation/cublas_lt/cublas_lt_fixture.h"

namespace weft::testing {
namespace {

double gelu(double x) { return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x))); }

double gelu_gradient(double x) {
  constexpr double kStep = 1e-4;
  return (gelu(x + kStep) - gelu(x - kStep)) / (2 * kStep);
}

class CublasLtEpilogue : public CublasLt {
 protected:
  // The bias, and room for gradients of it.
  void with_bias(int64_t length) {
    host_bias_ = numbers(length, 5);
    bias_ = upload(host_bias_);
  }
  // The gradient of the bias that the last call wrote.
  void expect_bias_gradient(int64_t length, const std::function<double(int64_t i)>& want, double tolerance = 1e-4) {
    const Floats got = download(bias_, static_cast<size_t>(length));
    for (int64_t i = 0; i < length; ++i) EXPECT_NEAR(at(got, i), want(i), tolerance) << i;
  }
  Floats host_bias_;
};

TEST_F(CublasLtEpilogue, ReluWithBias) {
  const Call call{.epilogue = CUBLASLT_EPILOGUE_RELU_BIAS};
  with_bias(call.m);
  ASSERT_EQ(run(call), CUBLAS_STATUS_SUCCESS);
  expect_results(call, [&](double product, int64_t i, int64_t) { return std::max(0.0, product + at(host_bias_, i)); });
}

// Forward writes a bit for each element, which backward reads.
TEST_F(CublasLtEpilogue, ReluKeepsBitsForItsGradient) {
  Call call{.epilogue = CUBLASLT_EPILOGUE_RELU_AUX_BIAS, .aux_ld = 128};
  with_bias(call.m);
  aux_ = fresh<char>(static_cast<size_t>(call.aux_ld * call.n / 8));
  ASSERT_EQ(run(call), CUBLAS_STATUS_SUCCESS);
  const auto is_kept = [&, bias = host_bias_](int64_t i, int64_t j) { return product(call, i, j) + at(bias, i) > 0; };
  expect_results(call, [&](double product, int64_t i, int64_t) { return std::max(0.0, product + at(host_bias_, i)); });

  call.epilogue = CUBLASLT_EPILOGUE_DRELU_BGRAD;
  ASSERT_EQ(run(call), CUBLAS_STATUS_SUCCESS);
  expect_results(call, [&](double product, int64_t i, int64_t j) { return is_kept(i, j) ? product : 0; });
  expect_bias_gradient(call.m, [&](int64_t i) {
    double sum = 0;
    for (int64_t j = 0; j < call.n; ++j) sum += is_kept(i, j) ? product(call, i, j) : 0;
    return sum;
  });
}

// Tolerance for inputs and products below 10, with a tanh that is off by 2^-11.
TEST_F(CublasLtEpilogue, GeluKeepsItsInputsForItsGradient) {
  constexpr double kTolerance = 2e-3, kGradientTolerance = 2e-2;
  Call call{.epilogue = CUBLASLT_EPILOGUE_GELU_AUX_BIAS, .aux_ld = 8};
  with_bias(call.m);
  aux_ = fresh<char>(static_cast<size_t>(call.aux_ld * call.n) * sizeof(float));
  ASSERT_EQ(run(call), CUBLAS_STATUS_SUCCESS);
  const auto input = [&, bias = host_bias_](int64_t i, int64_t j) { return product(call, i, j) + at(bias, i); };
  expect_results(
      call, [&](double, int64_t i, int64_t j) { return gelu(input(i, j)); }, kTolerance);

  call.epilogue = CUBLASLT_EPILOGUE_DGELU_BGRAD;
  const auto gradient = [&](int64_t i, int64_t j) { return product(call, i, j) * gelu_gradient(input(i, j)); };
  ASSERT_EQ(run(call), CUBLAS_STATUS_SUCCESS);
  expect_results(
      call, [&](double, int64_t i, int64_t j) { return gradient(i, j); }, kGradientTolerance);
  expect_bias_gradient(
      call.m,
      [&](int64_t i) {
        double sum = 0;
        for (int64_t j = 0; j < call.n; ++j) sum += gradient(i, j);
        return sum;
      },
      5 * kGradientTolerance);
}

TEST_F(CublasLtEpilogue, SumsOfAnOperandOverTheInnerDimension) {
  for (const bool transposed : {false, true}) {
    SCOPED_TRACE(transposed);
    Call call{.trans_a = transposed, .trans_b = transposed, .epilogue = CUBLASLT_EPILOGUE_BGRADB};
    with_bias(std::max(call.m, call.n));
    ASSERT_EQ(run(call), CUBLAS_STATUS_SUCCESS);
    expect_results(call, [](double product, int64_t, int64_t) { return product; });
    expect_bias_gradient(call.n, [&](int64_t j) {
      double sum = 0;
      for (int64_t p = 0; p < call.k; ++p) sum += at(host_b_, transposed ? j + p * b_.ld : p + j * b_.ld);
      return sum;
    });
    call.epilogue = CUBLASLT_EPILOGUE_BGRADA;
    ASSERT_EQ(run(call), CUBLAS_STATUS_SUCCESS);
    expect_bias_gradient(call.m, [&](int64_t i) {
      double sum = 0;
      for (int64_t p = 0; p < call.k; ++p) sum += at(host_a_, transposed ? p + i * a_.ld : i + p * a_.ld);
      return sum;
    });
  }
}

TEST_F(CublasLtEpilogue, HasNoKernelForSomeThatNvidiasLacksToo) {
  with_bias(8);
  aux_ = fresh<char>(4096);
  const auto status = [&](Call call, uint32_t epilogue) {
    call.epilogue = epilogue, call.aux_ld = 128;
    return run(call);
  };
  for (const uint32_t gradient : {CUBLASLT_EPILOGUE_DRELU, CUBLASLT_EPILOGUE_DGELU, CUBLASLT_EPILOGUE_BGRADB})
    EXPECT_EQ(status({.k = 1}, gradient), CUBLAS_STATUS_NOT_SUPPORTED) << gradient;
  EXPECT_EQ(status({.n = 1}, CUBLASLT_EPILOGUE_BGRADB), CUBLAS_STATUS_NOT_SUPPORTED);
  EXPECT_EQ(status({.m = 1}, CUBLASLT_EPILOGUE_BGRADA), CUBLAS_STATUS_NOT_SUPPORTED);
  const Call into_f32{.m = 8, .n = 8, .k = 8, .ab = CUDA_R_16BF};
  EXPECT_EQ(status(into_f32, CUBLASLT_EPILOGUE_GELU_AUX), CUBLAS_STATUS_NOT_SUPPORTED);
  EXPECT_EQ(status(into_f32, CUBLASLT_EPILOGUE_GELU), CUBLAS_STATUS_SUCCESS);
}

TEST_F(CublasLtEpilogue, RefusesAnAuxiliaryBufferThatIsNotAsDocumented) {
  Call call{.epilogue = CUBLASLT_EPILOGUE_RELU_AUX, .aux_ld = 128};
  EXPECT_EQ(run(call), CUBLAS_STATUS_INVALID_VALUE);  // none
  aux_ = fresh<char>(4096);
  EXPECT_EQ(run(call), CUBLAS_STATUS_SUCCESS);
  call.aux_ld = 64;  // not a multiple of 128
  EXPECT_EQ(run(call), CUBLAS_STATUS_INVALID_VALUE);
  call.epilogue = CUBLASLT_EPILOGUE_GELU_AUX;
  EXPECT_EQ(run(call), CUBLAS_STATUS_SUCCESS);
  call.aux_ld = 12;  // not a multiple of 8
  EXPECT_EQ(run(call), CUBLAS_STATUS_INVALID_VALUE);
}

}  // namespace
}  // namespace weft::testing
