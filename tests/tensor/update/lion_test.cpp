// tests/tensor/update/lion_test.cpp: steps of Lion compared with the algorithm in double.
#include "tensor/op/update_rules.h"
#include "tests/tensor/workspace.h"

namespace weft::testing {
namespace {

TEST(Lion, MovesEachElementByTheRateAlongTheSignOfItsMomentum) {
  Workspace w;
  const double lr = 0.01f, beta1 = 0.9f, beta2 = 0.99f, decay = 0.1f, clip = 0.5f;
  const StepScalars scalars{.lr = 0.01f, .grad_scale = 0.5f};
  for (int64_t n : {1, 17, 1000}) {
    const Tensor param = w.random({n}), m = w.zeros({n});
    Doubles p = to_doubles(param), momentum(p.size());
    for (int step = 1; step <= 5; ++step) {
      const Tensor grad = w.random({n});
      ops::update(w.ctx, {.param = param,
                          .grad = grad,
                          .first = m,
                          .rule = ops::UpdateRule::lion,
                          .beta1 = 0.9f,
                          .beta2 = 0.99f,
                          .weight_decay = 0.1f,
                          .scalars = &scalars});
      const Doubles g = to_doubles(grad);
      for (size_t i = 0; i < p.size(); ++i) {
        const double ahead = beta1 * momentum[i] + (1 - beta1) * g[i] * clip;
        momentum[i] = beta2 * momentum[i] + (1 - beta2) * g[i] * clip;
        p[i] -= lr * ((ahead > 0 ? 1 : -1) + decay * p[i]);
      }
    }
    expect_close(param, p, 3e-7, "param");
    expect_close(m, momentum, 1e-7, "m");
  }
}

TEST(Lion, StaysWhereThereNeverWasAGradientAndShowsOneThatIsNotANumber) {
  Workspace w;
  const Tensor param = w.random({9}), grad = w.zeros({9}), m = w.zeros({9}), before = w.copy(param);
  const StepScalars scalars{.lr = 1};
  const ops::Update step{.param = param, .grad = grad, .first = m, .rule = ops::UpdateRule::lion, .scalars = &scalars};
  ops::update(w.ctx, step);
  EXPECT_EQ(values(param), values(before));
  grad.ptr<float>()[4] = NAN;
  ops::update(w.ctx, step);
  for (size_t i = 0; i < 9; ++i) EXPECT_EQ(std::isnan(values(param)[i]), i == 4);
}

}  // namespace
}  // namespace weft::testing
