// tests/tensor/op/op_cost_test.cpp: bytes and operations of calls, counted by hand.
#include "tensor/op/op_cost.h"

#include <gtest/gtest.h>

#include "tensor/memory.h"
#include "tensor/op/op_trace.h"

namespace weft::testing {
namespace {

Tensor tensor(Shape shape, DType dtype = DType::f32) { return {nullptr, shape, dtype}; }

TEST(OpCost, CountsWhatIsAddedToTwice) {
  Context ctx;
  EXPECT_EQ(cost_of(ctx, ops::Add{.x = tensor({3, 5}), .y = tensor({3, 5})}), (OpCost{.bytes = 3 * 15 * 4}));
  ops::Update adam{.param = tensor({10}), .grad = tensor({10}), .first = tensor({10}), .second = tensor({10})};
  EXPECT_EQ(cost_of(ctx, adam), (OpCost{.bytes = 280}));
  adam.copy = tensor({10}, DType::bf16);
  EXPECT_EQ(cost_of(ctx, adam), (OpCost{.bytes = 300}));
  adam.average = tensor({10});
  EXPECT_EQ(cost_of(ctx, adam), (OpCost{.bytes = 380}));
}

TEST(OpCost, OfAProductCountsItsOperations) {
  Context ctx;
  ops::Gemm gemm{.a = tensor({7, 2}, DType::bf16), .b = tensor({7, 3}, DType::bf16), .c = tensor({2, 3})};
  gemm.trans_a = true;
  EXPECT_EQ(cost_of(ctx, gemm), (OpCost{.bytes = 2 * 35 + 4 * 6, .flops = 2 * 2 * 3 * 7}));
  gemm.accumulate = true;
  EXPECT_EQ(cost_of(ctx, gemm).bytes, 2 * 35 + 2 * 4 * 6);
}

TEST(OpCost, OfATableCountsTheRowsThatAreAskedFor) {
  Context ctx;
  const ops::EmbeddingForward few{
      .ids = tensor({3}, DType::i32), .table = tensor({100, 8}), .y = tensor({3, 8}, DType::bf16)};
  EXPECT_EQ(cost_of(ctx, few).bytes, 3 * 4 + 3 * 8 * 4 + 3 * 8 * 2);
}

TEST(OpCost, OfAttentionCountsThePairsThatAreSeen) {
  Context ctx;
  const Buffer memory(8 * sizeof(int32_t));
  const Tensor begin = memory.tensor({2}, DType::i32), end = memory.tensor({2}, DType::i32, 8);
  const Tensor k_begin = memory.tensor({2}, DType::i32, 16), k_end = memory.tensor({2}, DType::i32, 24);
  begin.ptr<int32_t>()[1] = end.ptr<int32_t>()[0] = 3, end.ptr<int32_t>()[1] = 7;        // sentences of 3 and 4 rows
  k_begin.ptr<int32_t>()[1] = k_end.ptr<int32_t>()[0] = 2, k_end.ptr<int32_t>()[1] = 7;  // of 2 and 5
  const Tensor x = tensor({7, 6});
  ops::AttentionForward a{.q = x, .k = x, .v = x, .q_rows = {begin, end}, .k_rows = {k_begin, k_end}, .y = x};
  EXPECT_EQ(cost_of(ctx, a), (OpCost{.bytes = 4 * 42 * 4, .flops = 4 * (3 * 2 + 4 * 5) * 6}));
  a.k_rows = a.q_rows;
  a.causal = true;
  EXPECT_EQ(cost_of(ctx, a).flops, 4 * (1 + 2 + 3 + 1 + 2 + 3 + 4) * 6);
}

TEST(OpCost, HasTheOperandsThatAreGiven) {
  const ops::Gemm gemm{.a = tensor({7, 2}),
                       .b = tensor({7, 3}),
                       .c = tensor({2, 3}),
                       .trans_a = true,
                       .accumulate = true,
                       .d_bias = tensor({2})};
  std::vector<std::string> names;
  for (const OpTrace::Operand& operand : operands_of(gemm)) {
    names.emplace_back(operand.name);
    EXPECT_EQ(operand.added, names.back() == "c" || names.back() == "d_bias?") << operand.name;
  }
  EXPECT_EQ(names, (std::vector<std::string>{"a", "b", "c", "d_bias?"}));
}

// Ranges of a dry run have no memory, unless its caller gives them some.
TEST(OpCost, OfAttentionInADryRunCountsRangesInMemoryAlone) {
  Context dry(Device::cpu, /*dry_run=*/true);
  const Buffer memory(2 * sizeof(int32_t));
  const Tensor none = tensor({1}, DType::i32), begin = memory.tensor({1}, DType::i32),
               end = memory.tensor({1}, DType::i32, 4);
  end.ptr<int32_t>()[0] = 7;
  const Tensor x = tensor({7, 6});
  ops::AttentionForward a{.q = x, .k = x, .v = x, .q_rows = {none, none}, .k_rows = {none, none}, .y = x};
  EXPECT_EQ(cost_of(dry, a).flops, 0);
  a.q_rows = a.k_rows = {begin, end};
  EXPECT_EQ(cost_of(dry, a).flops, 4 * 7 * 7 * 6);
}

TEST(OpCost, IsKeptWithEachOpOfATraceThatAsksForIt) {
  Context ctx;
  const Buffer memory(6 * sizeof(float));
  const Tensor x = memory.tensor({2, 3});
  OpTrace trace;
  ctx.set_trace(&trace);
  weft::ops::fill(ctx, {.x = x, .value = 1});
  EXPECT_TRUE(trace.ops.empty());
  trace.keeps_ops = true;
  weft::ops::add(ctx, {.x = x, .y = x});
  ctx.set_trace(nullptr);
  ASSERT_EQ(trace.ops.size(), 1u);
  EXPECT_STREQ(trace.ops[0].name, "add");
  EXPECT_EQ(trace.ops[0].cost.bytes, 72);
  trace.ops[0].again(ctx);
  EXPECT_EQ(x.ptr<float>()[5], 4);
}

// On a CPU a GEMM's activation is a separate op.
TEST(OpCost, IsNotKeptOfOpsWithinAnother) {
  Context ctx;
  const Buffer memory(12 * sizeof(float));
  const Tensor x = memory.tensor({2, 2}), y = memory.tensor({2, 2}, DType::f32, 16),
               saved = memory.tensor({4}, DType::f32, 32);
  OpTrace trace{.calls = {}, .keeps_ops = true, .ops = {}};
  ctx.set_trace(&trace);
  weft::ops::gemm(
      ctx, {.a = x,
            .b = x,
            .c = y,
            .epilogue = {.kind = ops::Epilogue::Kind::activate, .activation = Activation::gelu, .saved = saved}});
  EXPECT_EQ(trace.calls.size(), 2u);
  EXPECT_EQ(trace.ops.size(), 1u);
  EXPECT_TRUE(trace.keeps_ops);
}

}  // namespace
}  // namespace weft::testing
