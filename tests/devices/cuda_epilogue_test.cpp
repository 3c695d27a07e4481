// tests/devices/cuda_epilogue_test.cpp: GEMM epilogues on a real or emulated CUDA device: relu's saved bits,
// written by cuBLASLt or by our kernel, and epilogues with tuning.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <regex>

#include "tensor/half.h"
#include "tests/devices/random_arguments.h"
#include "tests/support/compare.h"
#include "tests/support/device.h"
#include "tests/support/errors.h"
#include "tests/tensor/on_device.h"

namespace weft::testing {
namespace {

using Kind = ops::Epilogue::Kind;

class CudaEpilogue : public ::testing::Test {
 protected:
  Tensor bytes(int64_t count) {
    buffers_.emplace_back(static_cast<size_t>(count));
    return buffers_.back().tensor({count / 4});
  }
  Tensor saved(Activation activation, const Tensor& c) {
    const int64_t numel = ops::saved_numel(Device::cuda, activation, c.dtype, c.rows(), c.cols());
    return Tensor(bytes(numel * static_cast<int64_t>(size_of(c.dtype))).data, {numel}, c.dtype);
  }
  static std::vector<double> doubles(const Tensor& t) {
    return for_storage(t.dtype, [&](auto zero) {
      std::vector<double> all;
      for (const auto x : values<decltype(zero)>(t)) all.push_back(to_float(x));
      return all;
    });
  }
  Context ctx_{Device::cuda};
  std::vector<Buffer> buffers_;
};

// The bits come from cuBLASLt, or from our kernel where cuBLASLt has no algorithm for a slice or storage
// type. The GEMM of the gradient may use the other one.
TEST_F(CudaEpilogue, ReluSavesABitAnInputInOneOrder) {
  constexpr int64_t m = 19, n = 136, k = 24, kRowBytes = 256 / 8;  // bits in multiples of 128
  for (const auto& [ab, c_type] : {std::pair{DType::f32, DType::f32},
                                   {DType::bf16, DType::bf16},
                                   {DType::f16, DType::f16},
                                   {DType::bf16, DType::f32}}) {
    for (uint64_t seed = 1; seed <= 8; ++seed) {  // whole matrices and slices of all alignments
      SCOPED_TRACE(std::string(name_of(ab)) + " to " + name_of(c_type) + ", seed " + std::to_string(seed));
      RandomArguments r(seed, ab);
      const Tensor c = r.matrix(m, n, c_type), bits = saved(Activation::relu, c);
      ASSERT_EQ(bits.bytes(), static_cast<size_t>(m * kRowBytes));
      ops::gemm(ctx_, {.a = r.matrix(m, k),
                       .b = r.matrix(k, n),
                       .c = c,
                       .bias = r.floats({n}),
                       .epilogue = {Kind::activate, Activation::relu, bits}});
      const std::vector<double> y = doubles(c);
      for (int64_t i = 0; i < m; ++i) {
        for (int64_t j = 0; j < n; ++j) {
          const uint8_t byte = static_cast<const uint8_t*>(bits.data)[i * kRowBytes + j / 8];
          ASSERT_EQ((byte >> j % 8 & 1) != 0, y[static_cast<size_t>(i * n + j)] > 0) << "row " << i << " column " << j;
        }
      }
    }
  }
}

// GEMMs with activations, their gradients and a bias gradient as epilogues; results are concatenated.
class CudaEndings : public CudaEpilogue {
 protected:
  std::vector<double> results(Context& ctx) {
    std::vector<double> all;
    const auto keep = [&](const Tensor& t) {
      const std::vector<double> v = doubles(t);
      all.insert(all.end(), v.begin(), v.end());
    };
    for (const auto& [activation, kept] : {std::pair{Activation::relu, bits_}, {Activation::gelu_tanh, inputs_}}) {
      ops::gemm(ctx, {.a = a_, .b = b_, .c = c_, .epilogue = {Kind::activate, activation, kept}});
      ops::gemm(ctx, {.a = a_, .b = b_, .c = d_, .epilogue = {Kind::differentiate, activation, kept}});
      keep(c_), keep(d_);
    }
    ops::fill(ctx, {.x = d_weight_});
    ops::fill(ctx, {.x = d_bias_});
    ops::gemm(ctx, {.a = a_, .b = x_, .c = d_weight_, .trans_a = true, .accumulate = true, .d_bias = d_bias_});
    keep(d_weight_), keep(d_bias_);
    return all;
  }
  // Results of a context whose first GEMM reads this variable from the environment.
  std::vector<double> results_with(const char* setting, const char* value = "1") {
    setenv(setting, value, /*overwrite=*/1);
    Context ctx(Device::cuda);
    std::vector<double> all = results(ctx);
    unsetenv(setting);
    return all;
  }

  static constexpr int64_t m = 24, n = 40, k = 128;
  static constexpr DType kType = DType::bf16;
  RandomArguments r_{1, kType};  // contiguous matrices: cuBLASLt has its epilogues for them
  const Tensor a_ = r_.tensor({m, k}, kType), b_ = r_.tensor({k, n}, kType), x_ = r_.tensor({m, k}, kType),
               c_ = r_.tensor({m, n}, kType), d_ = r_.tensor({m, n}, kType), d_weight_ = r_.floats({k, k}),
               d_bias_ = r_.floats({k}), bits_ = saved(Activation::relu, c_),
               inputs_ = saved(Activation::gelu_tanh, c_);
};

TEST_F(CudaEndings, AreTheSameWhenTuned) {
  const std::vector<double> want = results(ctx_);
  Context tuned(Device::cuda), next(Device::cuda);
  const std::string chosen = tuned.runtime().tune("", [&] { results(tuned); });
  const std::vector<double> got = results(tuned);
  expect_close_in_norm(got, want, 0x1p-8);
  EXPECT_EQ(next.runtime().tune(chosen, [&] { results(next); }), chosen) << "nothing is left to time";
  EXPECT_EQ(results(next), got);
}

// On the emulated device, GELU after a product that was rounded to bf16 differs from GELU inside the product. cuBLASLt
// promises neither.
TEST_F(CudaEndings, AreSeparatePassesWhereThatIsChosen) {
  const auto results_as = [&](const char* way) {
    Context ctx(Device::cuda);
    std::string choices = ctx.runtime().tune("", [&] { results(ctx); });
    // Those with an activation or a bias gradient.
    const std::regex ending("(epilogue ([12],\\d|0,\\d \\d\\d1)[^\t]*\t)[0-9]\t(fused|separate)\n");
    choices = std::regex_replace(choices, ending, fmt::format("$010\t{}\n", way));
    EXPECT_EQ(ctx.runtime().tune(choices, [] {}), choices);
    return results(ctx);
  };
  const std::vector<double> fused = results_as("fused"), separate = results_as("separate");
  EXPECT_EQ(fused, results(ctx_));
  EXPECT_TRUE(separate != fused || !on_emulated_device());
  expect_close_in_norm(separate, fused, 0x1p-8);
}

TEST_F(CudaEndings, AreTimedAnewOnAnotherDevice) {
  const std::string chosen = ctx_.runtime().tune("", [&] { results(ctx_); });
  const std::string elsewhere = "Another " + chosen, none = ctx_.runtime().tune(elsewhere, [] {});
  EXPECT_EQ(none, chosen.substr(0, chosen.find('\n') + 1));
}

TEST_F(CudaEndings, RefuseDamagedChoices) {
  const std::string chosen = ctx_.runtime().tune("", [&] { results(ctx_); });
  const size_t last = chosen.rfind('\t');
  for (const std::string& damaged : {chosen.substr(0, last), chosen.substr(0, last) + "\tmelted\n",
                                     chosen.substr(0, last - 1) + "9\tfused\n", chosen + "\n"}) {
    const std::string message = message_of(ErrorKind::io, [&] { ctx_.runtime().tune(damaged, [] {}); });
    EXPECT_NE(message.find("are corrupt"), std::string::npos) << message;
  }
}

// Only the emulated library reads the variable; on a GPU both results are the same.
TEST_F(CudaEndings, ArePassesWhereCublasLtRefusesThem) {
  const std::vector<double> want = results(ctx_);
  for (const char* when : {"1", "late", "all"})
    expect_close_in_norm(results_with("WEFT_EMULATED_CUBLASLT_REFUSES_EPILOGUES", when), want, 0x1p-8);
}

}  // namespace
}  // namespace weft::testing
