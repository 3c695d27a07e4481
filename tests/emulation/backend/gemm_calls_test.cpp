// tests/emulation/backend/gemm_calls_test.cpp: cuBLASLt's call computes a GEMM's epilogue, without further
// kernels. Both ways give the same results, so the test counts calls.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>

#include "tensor/memory.h"
#include "tensor/ops.h"

namespace weft::testing {
namespace {

using Kind = ops::Epilogue::Kind;

class GemmCalls : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { setenv("WEFT_CUDA_MODULE", WEFT_BINARY_DIR "/emulated/libweft_cuda.so", 1); }

  // Number of GEMMs and kernels that `run` enqueues; plans and scratch memory exist already.
  size_t pieces(const std::function<void()>& run) {
    run();
    ctx_.synchronize();
    const auto stream = static_cast<cudaStream_t>(ctx_.runtime().stream());
    cudaGraph_t graph = nullptr;
    size_t count = 0;
    EXPECT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), cudaSuccess);
    run();
    EXPECT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
    EXPECT_EQ(cudaGraphGetNodes(graph, nullptr, &count), cudaSuccess);
    EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
    return count;
  }
  Tensor tensor(Shape shape, DType dtype = DType::bf16) { return arena_.tensor(shape, dtype); }

  size_t pieces_of_forward(Activation activation, const Tensor& bias, bool saves) {
    const int64_t numel = ops::saved_numel(Device::cuda, activation, DType::bf16, 16, 40);
    const Tensor saved = saves ? tensor({numel}) : Tensor(), a = tensor({16, 24}), b = tensor({24, 40});
    const Tensor c = tensor({16, 40});
    return pieces([&] {
      ops::gemm(ctx_, {.a = a, .b = b, .c = c, .bias = bias, .epilogue = {Kind::activate, activation, saved}});
    });
  }
  size_t pieces_of_gradient(Activation activation) {
    const Tensor saved = tensor({ops::saved_numel(Device::cuda, activation, DType::bf16, 16, 40)});
    const Tensor a = tensor({16, 24}), b = tensor({24, 40}), c = tensor({16, 40});
    return pieces([&] {
      ops::gemm(ctx_, {.a = a, .b = b, .c = c, .epilogue = {Kind::differentiate, activation, saved}});
    });
  }

  Context ctx_{Device::cuda};
  Arena arena_{1 << 20, Device::cuda};
};

TEST_F(GemmCalls, AnActivationIsTheEndOfItsProduct) {
  const Tensor none, bias = tensor({40}, DType::f32);
  for (const Activation activation : {Activation::relu, Activation::gelu_tanh}) {
    for (const bool saves : {false, true}) {
      EXPECT_EQ(pieces_of_forward(activation, none, saves), 1u);
      EXPECT_EQ(pieces_of_forward(activation, bias, saves), 2u) << "the bias is rounded first";
    }
    EXPECT_EQ(pieces_of_gradient(activation), 1u);
  }
}

TEST_F(GemmCalls, TheExactGeluIsAPassOfItsOwn) {
  EXPECT_EQ(pieces_of_forward(Activation::gelu, {}, /*saves=*/true), 2u);
  EXPECT_EQ(pieces_of_gradient(Activation::gelu), 2u);
}

TEST_F(GemmCalls, ABiassGradientComesWithItsWeights) {
  const Tensor d_y = tensor({48, 16}), x = tensor({48, 24});
  const Tensor d_weight = tensor({16, 24}, DType::f32), d_bias = tensor({16}, DType::f32);
  const auto run = [&] {
    ops::gemm(ctx_, {.a = d_y, .b = x, .c = d_weight, .trans_a = true, .accumulate = true, .d_bias = d_bias});
  };
  EXPECT_EQ(pieces(run), 2u) << "the GEMM, and the accumulation";
}

}  // namespace
}  // namespace weft::testing
