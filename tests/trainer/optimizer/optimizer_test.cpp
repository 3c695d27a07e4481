// tests/trainer/optimizer/optimizer_test.cpp: the gradient norm that all ranks agree on.
#include "trainer/optimizer/optimizer.h"

#include <gtest/gtest.h>

#include <limits>

#include "tests/support/device.h"
#include "trainer/step/step_totals.h"

namespace weft::testing {
namespace {

// Calls `body` on every rank with parameters `split` (two entries per tp rank) and `whole`. All gradients are 3.
void on_grid_of_gradients(int dp, int tp, const std::function<void(ParamStore&, const Mesh&, Context&)>& body) {
  run_thread_ranks(dp * tp, [&](Communicator& world) {
    const Mesh mesh(world, {.dp = dp, .tp = tp});
    ParamStore params(mesh.tp().rank(), tp, DType::f32, test_device());
    params.declare({.name = "split", .shape = {2 * tp}, .tp_dim = 0});
    params.declare({.name = "whole", .shape = {4}});
    params.allocate();
    Context ctx(test_device());
    ops::fill(ctx, {.x = params.grads()});
    for (const Param& p : params.params()) ops::fill(ctx, {.x = p.grad.with_shape({p.numel()}), .value = 3});
    body(params, mesh, ctx);
  });
}

StepTotals totals_of(ParamStore& params, const Mesh& mesh, Context& ctx) {
  const StepSums sums(test_device());
  Optimizer(params, {}).add_squares(ctx, sums.split_squares(), sums.whole_squares());
  StepTotals own;
  sums.read(ctx, own);
  return exchange_totals(own, mesh);
}

TEST(GradNorm, CountsEachGlobalElementOnce) {
  on_grid_of_gradients(2, 2, [](ParamStore& params, const Mesh& mesh, Context& ctx) {
    const StepTotals totals = totals_of(params, mesh, ctx);
    EXPECT_DOUBLE_EQ(totals.gradient_square(), 8 * 9.0);
    EXPECT_TRUE(totals.finite());
  });
}

TEST(GradNorm, OneOverflowOnOneRankIsSeenByAll) {
  for (const auto& [dp, tp] : {std::pair{2, 1}, {1, 2}, {2, 2}})
    for (const char* name : {"split", "whole"})
      on_grid_of_gradients(dp, tp, [&](ParamStore& params, const Mesh& mesh, Context& ctx) {
        if (mesh.world().rank() == 1)
          change(ctx, params.find(name)->grad,
                 [](std::vector<float>& values) { values[1] = std::numeric_limits<float>::infinity(); });
        EXPECT_FALSE(totals_of(params, mesh, ctx).finite()) << name;
      });
}

TEST(StepTotals, AddLossesAndTokensOfDataParallelRanksAndTakeTheStrongestRequest) {
  run_thread_ranks(4, [](Communicator& world) {
    const Mesh mesh(world, {.dp = 2, .tp = 2});
    Context ctx(test_device());
    const StepSums sums(test_device());
    const Buffer memory(sizeof(float), test_device());
    const Tensor one = memory.tensor({1});
    const auto dp_rank = static_cast<float>(mesh.dp().rank());
    ops::fill(ctx, {.x = one, .value = 1 + dp_rank});
    ops::sum(ctx, {.x = one, .y = sums.loss()});
    ops::fill(ctx, {.x = one, .value = 10 + dp_rank});
    ops::sum(ctx, {.x = one, .y = sums.nll()});
    const StopRequest request = world.rank() == 3   ? StopRequest::save
                                : world.rank() == 1 ? StopRequest::stop
                                                    : StopRequest::none;
    StepTotals own{.source_tokens = 5 + mesh.dp().rank(),
                   .target_tokens = 7,
                   .target_weight = 1.5 + mesh.dp().rank(),
                   .dropped = mesh.dp().rank(),
                   .flops = 1e9 * (1 + mesh.dp().rank()),
                   .save_goes_on = world.rank() == 2,
                   .request = request,
                   .busy = {static_cast<double>(world.rank())}};
    sums.read(ctx, own);
    const StepTotals totals = exchange_totals(own, mesh);
    EXPECT_EQ(totals.loss, 3);
    EXPECT_EQ(totals.nll, 21);
    EXPECT_EQ(totals.source_tokens, 11);
    EXPECT_EQ(totals.target_tokens, 14);
    EXPECT_EQ(totals.target_weight, 4);
    EXPECT_EQ(totals.dropped, 1);
    EXPECT_EQ(totals.flops, 3e9);
    EXPECT_EQ(totals.request, StopRequest::stop);
    EXPECT_EQ(totals.busy, (std::vector<double>{0, 1, 2, 3}));
    EXPECT_TRUE(totals.save_goes_on);
    const StepTotals none = exchange_totals({}, mesh);
    EXPECT_EQ(none.request, StopRequest::none);
    EXPECT_FALSE(none.save_goes_on);
  });
}

TEST(ClipScale, BringsTheNormDownToTheLimit) {
  EXPECT_DOUBLE_EQ(clip_scale(4, 1), 1 / (4 + 1e-6));
  EXPECT_EQ(clip_scale(0.5, 1), 1);
  EXPECT_EQ(clip_scale(4, 0), 1);
}

}  // namespace
}  // namespace weft::testing
