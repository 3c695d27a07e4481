// tests/tensor/update/adam_test.cpp: some Adam steps compared with the algorithm in double.
#include "tensor/op/update_rules.h"
#include "tests/tensor/workspace.h"

namespace weft::testing {
namespace {

TEST(Adam, FollowsTheAlgorithmForSeveralSteps) {
  Workspace w;
  for (int64_t n : {1, 17, 1000}) {
    const Tensor param = w.random({n}), m = w.zeros({n}), v = w.zeros({n});
    Doubles p = to_doubles(param), first(p.size()), second(p.size());
    const double lr = 0.01f, beta1 = 0.9f, beta2 = 0.98f, eps = 1e-9f, decay = 0.1f, clip = 0.5f;
    for (int64_t step = 1; step <= 5; ++step) {
      const Tensor grad = w.random({n});
      StepScalars scalars{.lr = 0.01f, .grad_scale = 0.5f};
      set_adam_corrections(scalars, 0.9f, 0.98f, step);
      ops::update(w.ctx,
                  {.param = param, .grad = grad, .first = m, .second = v, .weight_decay = 0.1f, .scalars = &scalars});
      const Doubles g = to_doubles(grad);
      for (size_t i = 0; i < p.size(); ++i) {
        first[i] = beta1 * first[i] + (1 - beta1) * g[i] * clip;
        second[i] = beta2 * second[i] + (1 - beta2) * g[i] * clip * g[i] * clip;
        const double m_hat = first[i] / (1 - std::pow(beta1, static_cast<double>(step)));
        const double v_hat = second[i] / (1 - std::pow(beta2, static_cast<double>(step)));
        p[i] -= lr * (m_hat / (std::sqrt(v_hat) + eps) + decay * p[i]);
      }
    }
    expect_close(param, p, 3e-7, "param");
    expect_close(m, first, 1e-7, "m");
    expect_close(v, second, 1e-8, "v");
  }
}

// One pass gives the same bits as the update without an average; the average is that of the new parameters.
TEST(Adam, MovesTheAverageTowardsTheNewParameters) {
  Workspace w;
  for (int64_t n : {1, 17, 1000}) {
    const Tensor param = w.random({n}), m = w.zeros({n}), v = w.zeros({n}), average = w.copy(param);
    const Tensor alone = w.copy(param), alone_m = w.zeros({n}), alone_v = w.zeros({n});
    Doubles mean = to_doubles(param);
    for (int64_t step = 1; step <= 5; ++step) {
      const Tensor grad = w.random({n});
      const auto rate = static_cast<float>(1.0 / static_cast<double>(1 + step));
      StepScalars scalars{.lr = 0.1f, .average_rate = rate};
      set_adam_corrections(scalars, 0.9f, 0.98f, step);
      ops::update(w.ctx,
                  {.param = param, .grad = grad, .first = m, .second = v, .average = average, .scalars = &scalars});
      ops::update(w.ctx, {.param = alone, .grad = grad, .first = alone_m, .second = alone_v, .scalars = &scalars});
      EXPECT_EQ(values(param), values(alone));
      const Doubles p = to_doubles(param);
      for (size_t i = 0; i < p.size(); ++i) mean[i] += static_cast<double>(rate) * (p[i] - mean[i]);
    }
    expect_close(average, mean, 3e-7, "average");
  }
}

TEST(Adam, DoesNotMoveWithoutGradient) {
  Workspace w;
  const Tensor param = w.random({9}), zero = w.zeros({9}), before = w.copy(param);
  const StepScalars scalars{.lr = 1};
  ops::update(w.ctx,
              {.param = param, .grad = zero, .first = w.zeros({9}), .second = w.zeros({9}), .scalars = &scalars});
  EXPECT_EQ(values(param), values(before));
}

}  // namespace
}  // namespace weft::testing
