// tests/tensor/update/schedule_free_test.cpp: steps of schedule-free AdamW compared with its three sequences in double.
#include "tensor/op/update_rules.h"
#include "tests/tensor/workspace.h"

namespace weft::testing {
namespace {

// The definition: a step of z with the gradient at y, the mean x, and y between both.
TEST(ScheduleFree, KeepsTheParametersBetweenZAndTheMeanOfAllZ) {
  Workspace w;
  const double lr = 0.01f, beta1 = 0.9f, beta2 = 0.98f, eps = 1e-8f, decay = 0.1f, clip = 0.5f;
  for (int64_t n : {1, 17, 1000}) {
    const Tensor param = w.random({n}), z = w.copy(param), v = w.zeros({n});
    Doubles x = to_doubles(param), steps = x, squares(x.size()), y = x;
    for (int64_t step = 1; step <= 5; ++step) {
      const Tensor grad = w.random({n});
      const double c = 1.0 / static_cast<double>(step);
      StepScalars scalars{.lr = 0.01f, .grad_scale = 0.5f, .mean_weight = static_cast<float>(c)};
      set_adam_corrections(scalars, 0.9f, 0.98f, step);
      ops::update(w.ctx, {.param = param,
                          .grad = grad,
                          .first = z,
                          .second = v,
                          .rule = ops::UpdateRule::schedule_free,
                          .beta1 = 0.9f,
                          .beta2 = 0.98f,
                          .eps = 1e-8f,
                          .weight_decay = 0.1f,
                          .scalars = &scalars});
      const Doubles g = to_doubles(grad);
      for (size_t i = 0; i < x.size(); ++i) {
        squares[i] = beta2 * squares[i] + (1 - beta2) * g[i] * clip * g[i] * clip;
        const double v_hat = squares[i] / (1 - std::pow(beta2, static_cast<double>(step)));
        steps[i] -= lr * (g[i] * clip / (std::sqrt(v_hat) + eps) + decay * y[i]);
        x[i] = (1 - c) * x[i] + c * steps[i];
        y[i] = (1 - beta1) * steps[i] + beta1 * x[i];
      }
    }
    expect_close(param, y, 3e-7, "param");
    expect_close(z, steps, 3e-7, "z");
    expect_close(v, squares, 1e-8, "v");
  }
}

}  // namespace
}  // namespace weft::testing
