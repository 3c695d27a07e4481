// tests/tensor/context_test.cpp: argument checks name op and field; dry runs check arguments but compute
// nothing.
#include "tensor/context.h"

#include "tests/support/errors.h"
#include "tests/support/without_cuda.h"
#include "tests/tensor/workspace.h"

namespace weft::testing {
namespace {

template <typename Action>
std::string message_of(const Action& action) {
  return testing::message_of(ErrorKind::internal, action);
}

TEST(Ops, NameOpAndFieldOfAWrongShape) {
  Workspace w;
  const Tensor x = w.random({3, 4}), y = w.random({3, 5});
  EXPECT_EQ(message_of([&] { ops::add(w.ctx, {.x = x, .y = y}); }), "add: x is [3, 4], expected [3, 5]");
  EXPECT_EQ(message_of([&] { ops::add(w.ctx, {.y = y}); }), "add: x is missing");
  EXPECT_EQ(message_of([&] { ops::fill(w.ctx, {.x = w.ints({1})}); }), "fill: x is i32, expected f32, bf16 or f16");
  EXPECT_EQ(message_of([&] { ops::fill(w.ctx, {.x = Tensor(nullptr, {2})}); }), "fill: x has no memory");
}

TEST(Ops, SayWhichTensorAnActivationsGradientReads) {
  Workspace w;
  const Tensor x = w.random({3, 4}), d = w.random({3, 4});
  const auto message = [&](const ops::ActivationBackward& a) {
    return message_of([&] { ops::activation_backward(w.ctx, a); });
  };
  EXPECT_EQ(message({.x = x, .d_y = d, .d_x = d, .kind = Activation::relu}),
            "activation_backward: y (which relu reads) is missing");
  EXPECT_EQ(message({.y = x, .d_y = d, .d_x = d, .kind = Activation::gelu}),
            "activation_backward: x (which all but relu read) is missing");
}

TEST(Ops, RefuseAProductThatCannotEndSo) {
  using Kind = ops::Epilogue::Kind;
  Workspace w;
  const Tensor x = w.random({3, 4}), y = w.random({4, 4}), c = w.zeros({3, 4}), four = w.random({4});
  const auto message = [&](ops::Gemm a) {
    a.a = x, a.b = y, a.c = c;
    return message_of([&] { ops::gemm(w.ctx, a); });
  };
  EXPECT_EQ(message({.accumulate = true, .epilogue = {Kind::activate}}),
            "gemm: an activation cannot follow an accumulated sum");
  EXPECT_EQ(message({.bias = four, .epilogue = {Kind::differentiate, Activation::relu, c}}),
            "gemm: epilogue.differentiate cannot be combined with a bias");
  EXPECT_EQ(message({.epilogue = {Kind::differentiate}}), "gemm: epilogue.saved is missing");
  EXPECT_EQ(message({.d_bias = w.zeros({3})}), "gemm: d_bias requires trans_a, an f32 result, no bias and no epilogue");
}

TEST(Ops, RefuseRangesOutsideTheRows) {
  Workspace w;
  const Tensor x = w.random({4, 2});
  const ops::SequenceRanges good{w.ints({0}), w.ints({4})}, bad{w.ints({0}), w.ints({5})};
  EXPECT_EQ(
      message_of([&] {
        ops::attention_forward(w.ctx, {.q = x, .k = x, .v = x, .q_rows = good, .k_rows = bad, .y = w.zeros({4, 2})});
      }),
      "attention_forward: k_rows: sentence 0 has rows 0 to 5, but only 4 exist");
}

TEST(Ops, CheckButDoNotComputeOnADryRun) {
  Context dry(test_device(), true);
  const Tensor x(nullptr, {3, 4}), y(nullptr, {3, 5});
  EXPECT_NO_THROW(ops::add(dry, {.x = x, .y = x}));
  EXPECT_THROW(ops::add(dry, {.x = x, .y = y}), Error);
}

TEST(Ops, AcceptMatricesWithoutRows) {
  Workspace w;
  const Tensor x = w.random({1, 4}).slice_rows(0, 0), bias = w.random({4}), c = w.random({1, 3}).slice_rows(0, 0);
  EXPECT_NO_THROW(ops::dropout_add_forward(w.ctx, {.x = x, .bias = bias, .y = x}));
  EXPECT_NO_THROW(ops::gemm(w.ctx, {.a = x, .b = w.random({4, 3}), .c = c}));
}

TEST(Context, NamesTheModuleOfADeviceThatCannotBeOpened) {
  const WithoutCuda without_cuda;
  const std::string message = testing::message_of(ErrorKind::usage, [] { Context{Device::cuda}; });
  EXPECT_TRUE(message.starts_with("the CUDA backend libno_such_backend.so cannot be used: ")) << message;
  EXPECT_TRUE(message.ends_with("; use --device=cpu to run without it")) << message;
}

TEST(Ops, FailWithinTheFramesOfTheirCaller) {
  const ErrorFrame frame("while a test looks on");
  Workspace w;
  EXPECT_EQ(error_of([&] { ops::fill(w.ctx, {}); }).frames(), std::vector<std::string>{"while a test looks on"});
}

TEST(Cpu, CanRunItsKernels) { EXPECT_NO_THROW(require_cpu_features()); }

TEST(Cpu, SetsTheNumberOfThreads) {
  const int kept = num_threads();
  set_num_threads(3);
  EXPECT_EQ(num_threads(), 3);
  set_num_threads(kept);
  EXPECT_THROW(set_num_threads(0), Error);
}

}  // namespace
}  // namespace weft::testing
