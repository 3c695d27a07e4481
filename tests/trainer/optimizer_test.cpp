// tests/trainer/optimizer_test.cpp: the gradient norm that all ranks agree on, whatever the loss was multiplied by.
#include "trainer/optimizer.h"

#include <gtest/gtest.h>

#include <limits>

#include "tensor/error.h"
#include "tests/support/device.h"

namespace weft::testing {
namespace {

// On every rank of the grid: `split`, two of its entries a tp rank, and `whole`, both gradients 3.
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

TEST(GradNorm, CountsEachGlobalElementOnce) {
  on_grid_of_gradients(2, 2, [](ParamStore& params, const Mesh& mesh, Context& ctx) {
    const GradNorm norm = Optimizer(params, {}, test_device()).grad_norm(ctx, mesh);
    EXPECT_DOUBLE_EQ(norm.value, std::sqrt(8 * 9.0));
    EXPECT_TRUE(norm.finite);
  });
}

TEST(GradNorm, IsOfTheGradientsBeforeTheyWereScaled) {
  on_grid_of_gradients(1, 2, [](ParamStore& params, const Mesh& mesh, Context& ctx) {
    const GradNorm norm = Optimizer(params, {}, test_device()).grad_norm(ctx, mesh, /*loss_scale=*/1024);
    EXPECT_DOUBLE_EQ(norm.value, std::sqrt(8 * 9.0) / 1024);
  });
}

TEST(GradNorm, OneOverflowOnOneRankIsSeenByAll) {
  for (const auto& [dp, tp] : {std::pair{2, 1}, {1, 2}, {2, 2}})
    for (const char* name : {"split", "whole"})
      on_grid_of_gradients(dp, tp, [&](ParamStore& params, const Mesh& mesh, Context& ctx) {
        if (mesh.world().rank() == 1)
          change(ctx, params.find(name)->grad,
                 [](std::vector<float>& values) { values[1] = std::numeric_limits<float>::infinity(); });
        EXPECT_FALSE(Optimizer(params, {}, test_device()).grad_norm(ctx, mesh).finite) << name;
      });
}

}  // namespace
}  // namespace weft::testing
