// tests/tensor/op/op_trace_test.cpp: a trace records each op once, in order, without overlap, and only while it
// is set.
#include "tensor/op/op_trace.h"

#include <gtest/gtest.h>

#include "tensor/error.h"
#include "tests/tensor/workspace.h"

namespace weft::testing {
namespace {

std::vector<std::string> names(const OpTrace& trace) {
  std::vector<std::string> all;
  for (const OpTrace::Call& call : trace.calls) all.emplace_back(call.name);
  return all;
}

TEST(OpTrace, HoldsTheOpsInTheOrderTheyRan) {
  Workspace w;
  const Tensor x = w.random({3, 4}), b = w.random({4, 2}), c = w.random({3, 2});
  OpTrace trace;
  w.ctx.set_trace(&trace);
  ops::fill(w.ctx, {.x = x, .value = 2});
  ops::gemm(w.ctx, {.a = x, .b = b, .c = c});
  ops::fill(w.ctx, {.x = c});
  EXPECT_EQ(names(trace), (std::vector<std::string>{"fill", "gemm", "fill"}));
}

TEST(OpTrace, EndsWhenItIsTakenAway) {
  Workspace w;
  OpTrace trace;
  w.ctx.set_trace(&trace);
  w.ctx.set_trace(nullptr);
  ops::fill(w.ctx, {.x = w.random({2})});
  EXPECT_TRUE(trace.calls.empty());
}

TEST(OpTrace, CallsDoNotOverlap) {
  Workspace w;
  const Tensor x = w.random({64, 64});
  OpTrace trace;
  w.ctx.set_trace(&trace);
  for (int i = 0; i < 20; ++i) ops::add(w.ctx, {.x = x, .y = x});
  ASSERT_EQ(trace.calls.size(), 20u);
  double before = 0;
  for (const OpTrace::Call& call : trace.calls) {
    EXPECT_LE(before, call.begin);
    EXPECT_LE(call.begin, call.end);
    before = call.end;
  }
}

TEST(OpTrace, EndsACallWhereTheFirstWithinItBegins) {
  OpTrace trace;
  {
    const TracedCall outer(&trace, "outer");
    { const TracedCall inner(&trace, "first"); }
    { const TracedCall inner(&trace, "second"); }
  }
  { const TracedCall alone(&trace, "alone"); }
  ASSERT_EQ(names(trace), (std::vector<std::string>{"outer", "first", "second", "alone"}));
  EXPECT_EQ(trace.calls[0].end, trace.calls[1].begin);
  for (size_t i = 1; i < trace.calls.size(); ++i) EXPECT_LE(trace.calls[i - 1].end, trace.calls[i].begin);
}

TEST(OpTrace, HoldsAnOpThatWasRefusedToo) {
  Workspace w;
  OpTrace trace;
  w.ctx.set_trace(&trace);
  EXPECT_THROW(ops::add(w.ctx, {.x = w.random({3}), .y = w.random({4})}), Error);
  EXPECT_EQ(names(trace), (std::vector<std::string>{"add"}));
}

}  // namespace
}  // namespace weft::testing
