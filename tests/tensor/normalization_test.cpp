// tests/tensor/normalization_test.cpp: layer norm and RMSNorm compared with their definitions and finite
// differences in double.
#include "tests/tensor/workspace.h"

namespace weft::testing {
namespace {

constexpr std::pair<int64_t, int64_t> kNormShapes[] = {{1, 1}, {5, 1}, {1, 8}, {5, 2}, {3, 7}, {2, 67}, {40, 19}};

Doubles reference(const Doubles& x, const Doubles& gamma, const Doubles& beta, double eps,
                  NormKind kind = NormKind::layer) {
  const bool is_layer = kind == NormKind::layer;
  const size_t cols = gamma.size();
  Doubles y(x.size());
  for (size_t r = 0; r < x.size(); r += cols) {
    double mean = 0, variance = 0;
    for (size_t c = 0; is_layer && c < cols; ++c) mean += x[r + c] / static_cast<double>(cols);
    for (size_t c = 0; c < cols; ++c) variance += (x[r + c] - mean) * (x[r + c] - mean) / static_cast<double>(cols);
    for (size_t c = 0; c < cols; ++c)
      y[r + c] = (x[r + c] - mean) / std::sqrt(variance + eps) * gamma[c] + (is_layer ? beta[c] : 0);
  }
  return y;
}

struct Norm {
  Tensor x, gamma, beta, y, mean, rstd;
  Norm(Workspace& w, int64_t rows, int64_t cols, float eps, NormKind kind = NormKind::layer)
      : x(w.random_slice(rows, cols)),
        gamma(w.random({cols})),
        beta(kind == NormKind::layer ? w.random({cols}) : Tensor()),
        y(w.nan_slice(rows, cols)),
        mean(kind == NormKind::layer ? w.nans({rows}) : Tensor()),
        rstd(w.nans({rows})) {
    ops::norm_forward(
        w.ctx, {.x = x, .gamma = gamma, .beta = beta, .y = y, .mean = mean, .rstd = rstd, .kind = kind, .eps = eps});
  }
};

TEST(LayerNorm, ForwardMatchesTheDefinition) {
  Workspace w;
  for (const auto& [rows, cols] : kNormShapes) {
    const Norm n(w, rows, cols, 1e-2f);
    expect_close(n.y, reference(to_doubles(n.x), to_doubles(n.gamma), to_doubles(n.beta), 1e-2f), tolerance(cols));
  }
}

TEST(RmsNorm, ForwardMatchesTheDefinition) {
  Workspace w;
  for (const auto& [rows, cols] : kNormShapes) {
    const Norm n(w, rows, cols, 1e-2f, NormKind::rms);
    expect_close(n.y, reference(to_doubles(n.x), to_doubles(n.gamma), {}, 1e-2f, NormKind::rms), tolerance(cols));
  }
}

TEST(RmsNorm, BackwardMatchesFiniteDifferences) {
  Workspace w;
  for (const auto& [rows, cols] : kNormShapes) {
    constexpr float kEps = 1e-2f;
    const Norm n(w, rows, cols, kEps, NormKind::rms);
    const Tensor d_y = w.random_slice(rows, cols), residual = w.random_slice(rows, cols), d_x = w.nan_slice(rows, cols);
    const Tensor d_gamma = w.filled({cols}, 1);
    ops::norm_backward(w.ctx, {.d_y = d_y,
                               .x = n.x,
                               .gamma = n.gamma,
                               .rstd = n.rstd,
                               .d_residual = residual,
                               .d_x = d_x,
                               .d_gamma = d_gamma,
                               .partial = w.nans({ops::kNormPartials, 2, cols}),
                               .kind = NormKind::rms});
    const Doubles x = to_doubles(n.x), gamma = to_doubles(n.gamma), g = to_doubles(d_y), added = to_doubles(residual);
    Doubles want_x = numerical_gradient(
        [&](const Doubles& v) { return weighted_sum(reference(v, gamma, {}, kEps, NormKind::rms), g); }, x);
    Doubles want_gamma = numerical_gradient(
        [&](const Doubles& v) { return weighted_sum(reference(x, v, {}, kEps, NormKind::rms), g); }, gamma);
    for (size_t i = 0; i < want_x.size(); ++i) want_x[i] += added[i];
    for (double& v : want_gamma) v += 1;
    expect_close(d_x, want_x, tolerance(cols, 4), "d_x");
    expect_close(d_gamma, want_gamma, tolerance(rows, 2), "d_gamma");
  }
}

TEST(LayerNorm, KeepsSmallDifferencesBesideALargeMean) {
  Workspace w;
  const Tensor x = w.random({4, 64}), ones = w.filled({64}, 1), zeros = w.zeros({64}), y = w.nans({4, 64});
  for (int64_t i = 0; i < x.numel(); ++i) x.ptr<float>()[i] += 1000;
  ops::norm_forward(w.ctx, {.x = x, .gamma = ones, .beta = zeros, .y = y, .mean = w.nans({4}), .rstd = w.nans({4})});
  expect_close(y, reference(to_doubles(x), to_doubles(ones), to_doubles(zeros), 1e-5), 1e-3);
}

TEST(LayerNorm, BackwardMatchesFiniteDifferences) {
  Workspace w;
  for (const auto& [rows, cols] : kNormShapes) {
    constexpr float kEps = 1e-2f;
    const Norm n(w, rows, cols, kEps);
    const Tensor d_y = w.random_slice(rows, cols), residual = w.random_slice(rows, cols), d_x = w.nan_slice(rows, cols);
    const Tensor d_gamma = w.filled({cols}, 1), d_beta = w.filled({cols}, 2),
                 partial = w.nans({ops::kNormPartials, 2, cols});
    ops::NormBackward a{.d_y = d_y,
                        .x = n.x,
                        .gamma = n.gamma,
                        .mean = n.mean,
                        .rstd = n.rstd,
                        .d_residual = residual,
                        .d_x = d_x,
                        .d_gamma = d_gamma,
                        .d_beta = d_beta,
                        .partial = partial};
    ops::norm_backward(w.ctx, a);

    const Doubles x = to_doubles(n.x), gamma = to_doubles(n.gamma), beta = to_doubles(n.beta), g = to_doubles(d_y);
    Doubles want_x =
        numerical_gradient([&](const Doubles& v) { return weighted_sum(reference(v, gamma, beta, kEps), g); }, x);
    Doubles want_gamma =
        numerical_gradient([&](const Doubles& v) { return weighted_sum(reference(x, v, beta, kEps), g); }, gamma);
    Doubles want_beta =
        numerical_gradient([&](const Doubles& v) { return weighted_sum(reference(x, gamma, v, kEps), g); }, beta);
    const Doubles added = to_doubles(residual);
    for (size_t i = 0; i < want_x.size(); ++i) want_x[i] += added[i];
    for (double& v : want_gamma) v += 1;
    for (double& v : want_beta) v += 2;
    expect_close(d_x, want_x, tolerance(cols, 4), "d_x");
    expect_close(d_gamma, want_gamma, tolerance(rows, 2), "d_gamma");
    expect_close(d_beta, want_beta, tolerance(rows, 2), "d_beta");

    const auto again = [&](const Tensor& d_residual, const Tensor& to) {
      ops::NormBackward b = a;
      b.d_residual = d_residual, b.d_x = to;
      ops::norm_backward(w.ctx, b);
      return values(to);
    };
    for (size_t i = 0; i < want_x.size(); ++i) want_x[i] -= added[i];
    const std::vector<float> alone = again({}, w.nans({rows, cols}));
    if (cols > 1) {
      expect_close(alone, want_x, tolerance(cols, 4), "d_x without residual");
    } else {  // a norm over one column has no gradient
      for (float x : alone) EXPECT_NEAR(x, 0.0f, 1e-5);
    }
    EXPECT_EQ(again(w.copy(residual), d_x), values(d_x));
    const Tensor in_residual = w.copy(residual), in_d_y = w.copy(d_y);
    EXPECT_EQ(again(in_residual, in_residual), values(d_x)) << "in place of d_residual";
    a.d_y = in_d_y;
    EXPECT_EQ(again(residual, in_d_y), values(d_x)) << "in place of d_y";
  }
}

TEST(LayerNorm, BackwardIsTheSameOnAnyNumberOfThreads) {
  expect_same_on_any_threads([](Workspace& w) {
    const Norm n(w, 377, 33, 1e-5f);
    const Tensor d_x = w.nans({377, 33}), d_gamma = w.zeros({33}), d_beta = w.zeros({33});
    ops::norm_backward(w.ctx, {.d_y = w.random({377, 33}),
                               .x = n.x,
                               .gamma = n.gamma,
                               .mean = n.mean,
                               .rstd = n.rstd,
                               .d_x = d_x,
                               .d_gamma = d_gamma,
                               .d_beta = d_beta,
                               .partial = w.nans({ops::kNormPartials, 2, 33})});
    return bytes_of(n.y) + bytes_of(d_x) + bytes_of(d_gamma) + bytes_of(d_beta);
  });
}

}  // namespace
}  // namespace weft::testing
