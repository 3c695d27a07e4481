// tests/tensor/update/muon_test.cpp: the ops of Muon compared with their formulas in double.
#include "tensor/op/step_scalars.h"
#include "tests/tensor/workspace.h"

namespace weft::testing {
namespace {

TEST(Muon, AveragesScaledGradientsAndLooksAhead) {
  Workspace w;
  for (int64_t n : {1, 17, 5000}) {
    const Tensor m = w.random({n});
    Doubles average = to_doubles(m);
    const StepScalars scalars{.grad_scale = 0.5f};
    for (int step = 0; step < 3; ++step) {
      const Tensor grad = w.random({n});
      Doubles update = to_doubles(grad);
      ops::muon_momentum(w.ctx, {.grad = grad, .m = m, .momentum = 0.75f, .scalars = &scalars});
      for (size_t i = 0; i < update.size(); ++i) {
        const double g = 0.5 * update[i];
        average[i] = 0.75 * average[i] + 0.25 * g;
        update[i] = 0.75 * average[i] + 0.25 * g;
      }
      expect_close(grad, update, 3e-7, "update");
    }
    expect_close(m, average, 3e-7, "momentum");
  }
}

TEST(Muon, MovesParametersByTheRateAndDecaysThem) {
  Workspace w;
  const Tensor param = w.random({5000}), update = w.random({5000});
  Doubles expected = to_doubles(param);
  const Doubles u = to_doubles(update);
  const Tensor average = w.random({5000});
  Doubles mean = to_doubles(average);
  const StepScalars scalars{.lr = 0.25f, .average_rate = 0.125f};
  ops::update(w.ctx, {.param = param,
                      .grad = update,
                      .average = average,
                      .rule = ops::UpdateRule::descent,
                      .weight_decay = 0.5f,
                      .scalars = &scalars});
  for (size_t i = 0; i < u.size(); ++i) {
    expected[i] -= 0.25 * (u[i] + 0.5 * expected[i]);
    mean[i] += 0.125 * (expected[i] - mean[i]);
  }
  expect_close(param, expected, 3e-7, "param");
  expect_close(average, mean, 3e-7, "average");
}

TEST(ScaleAdd, ScalesAndAddsColumnSlices) {
  Workspace w;
  for (const bool slices : {false, true}) {
    const Tensor x = slices ? w.random_slice(7, 30) : w.random({70, 300});
    const Tensor y = slices ? w.random_slice(7, 30) : w.random({70, 300});
    const Doubles in = to_doubles(x);
    Doubles expected = to_doubles(y);
    for (size_t i = 0; i < in.size(); ++i) expected[i] = 3 * in[i] - 0.5 * expected[i];
    ops::scale_add(w.ctx, {.x = x, .y = y, .alpha = 3, .beta = -0.5f});
    expect_close(y, expected, 1e-6, "y");
  }
}

TEST(ScaleAdd, DividesByANormAndOverwritesWhatIsNotANumber) {
  Workspace w;
  const Tensor x = w.random({9, 20}), y = w.nan_slice(9, 20), square = w.doubles({1});
  *square.ptr<double>() = 16;
  Doubles expected = to_doubles(x);
  for (double& value : expected) value *= 0.5;
  ops::scale_add(w.ctx, {.x = x, .y = y, .alpha = 2, .norm_square = square, .eps = 1e-7f});
  expect_close(y, expected, 1e-6, "y");
}

TEST(ScaleAdd, TakesEpsForASmallerNorm) {
  Workspace w;
  const Tensor x = w.zeros({4, 4}), square = w.doubles({1});
  ops::scale_add(w.ctx, {.x = x, .y = x, .norm_square = square, .eps = 1e-7f});
  EXPECT_EQ(values(x), std::vector<float>(16, 0.0f));
}

}  // namespace
}  // namespace weft::testing
