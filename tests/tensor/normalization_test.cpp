// tests/tensor/normalization_test.cpp: every kind of norm compared with its definition and finite differences
// in double.
#include "tests/support/definition/double_norm.h"
#include "tests/tensor/workspace.h"

namespace weft::testing {
namespace {

constexpr std::pair<int64_t, int64_t> kNormShapes[] = {{1, 1}, {5, 1}, {1, 8}, {5, 2}, {3, 7}, {2, 67}, {40, 19}};
constexpr float kNormEps = 1e-2f;

struct Norm {
  Tensor x, gamma, beta, y, mean, rstd;
  NormKind kind;
  Norm(Workspace& w, int64_t rows, int64_t cols, NormKind kind = NormKind::layer)
      : x(w.random_slice(rows, cols)),
        gamma(w.random({cols})),
        beta(formula_of(kind).has_beta ? w.random({cols}) : Tensor()),
        y(w.nan_slice(rows, cols)),
        mean(formula_of(kind).centred ? w.nans({rows}) : Tensor()),
        rstd(w.nans({rows})),
        kind(kind) {
    ops::norm_forward(
        w.ctx,
        {.x = x, .gamma = gamma, .beta = beta, .y = y, .mean = mean, .rstd = rstd, .kind = kind, .eps = kNormEps});
  }
  // The given gradients, with what forward read and saved.
  void backward(Workspace& w, ops::NormBackward a) const {
    a.x = x, a.gamma = gamma, a.mean = mean, a.rstd = rstd, a.kind = kind;
    if (a.partial.empty()) a.partial = w.nans({ops::kNormPartials, 2, x.cols()});
    ops::norm_backward(w.ctx, a);
  }
};

template <typename Check>
void on_every_norm(const Check& check) {
  for (const auto& [name, kind] : enum_names(NormKind())) {
    SCOPED_TRACE(name);
    Workspace w;
    for (const auto& [rows, cols] : kNormShapes) check(w, rows, cols, kind);
  }
}

Doubles optional_doubles(const Tensor& t) { return t.empty() ? Doubles() : to_doubles(t); }

TEST(Norm, ForwardMatchesTheDefinition) {
  on_every_norm([](Workspace& w, int64_t rows, int64_t cols, NormKind kind) {
    const Norm n(w, rows, cols, kind);
    const Doubles want = double_norm(kind, kNormEps, to_doubles(n.x), to_doubles(n.gamma), optional_doubles(n.beta));
    expect_close(n.y, want, tolerance(cols));
  });
}

TEST(Norm, BackwardMatchesFiniteDifferences) {
  on_every_norm([](Workspace& w, int64_t rows, int64_t cols, NormKind kind) {
    const Norm n(w, rows, cols, kind);
    const Tensor d_y = w.random_slice(rows, cols), residual = w.random_slice(rows, cols), d_x = w.nan_slice(rows, cols);
    const Tensor d_gamma = w.filled({cols}, 1), d_beta = n.beta.empty() ? Tensor() : w.filled({cols}, 2);
    n.backward(w, {.d_y = d_y, .d_residual = residual, .d_x = d_x, .d_gamma = d_gamma, .d_beta = d_beta});
    const Doubles x = to_doubles(n.x), gamma = to_doubles(n.gamma), beta = optional_doubles(n.beta);
    const Doubles g = to_doubles(d_y), added = to_doubles(residual);
    const auto loss = [&](const Doubles& x, const Doubles& gamma, const Doubles& beta) {
      return weighted_sum(double_norm(kind, kNormEps, x, gamma, beta), g);
    };
    Doubles want_x = numerical_gradient([&](const Doubles& v) { return loss(v, gamma, beta); }, x);
    Doubles want_gamma = numerical_gradient([&](const Doubles& v) { return loss(x, v, beta); }, gamma);
    Doubles want_beta = numerical_gradient([&](const Doubles& v) { return loss(x, gamma, v); }, beta);
    for (size_t i = 0; i < want_x.size(); ++i) want_x[i] += added[i];
    for (double& v : want_gamma) v += 1;
    for (double& v : want_beta) v += 2;
    expect_close(d_x, want_x, tolerance(cols, 4), "d_x");
    expect_close(d_gamma, want_gamma, tolerance(rows, 2), "d_gamma");
    if (!d_beta.empty()) expect_close(d_beta, want_beta, tolerance(rows, 2), "d_beta");
  });
}

TEST(Norm, SumsLeftForLaterHaveTheSameBits) {
  on_every_norm([](Workspace& w, int64_t rows, int64_t cols, NormKind kind) {
    const Norm n(w, rows, cols, kind);
    const Tensor d_y = w.random_slice(rows, cols), partial = w.nans({ops::kNormPartials, 2, cols});
    const auto gradient_of = [&](const Tensor& of) { return of.empty() ? Tensor() : w.filled({cols}, 1); };
    const Tensor d_gamma = gradient_of(n.gamma), d_beta = gradient_of(n.beta);
    const Tensor later_gamma = gradient_of(n.gamma), later_beta = gradient_of(n.beta);
    n.backward(w, {.d_y = d_y, .d_x = w.nan_slice(rows, cols), .d_gamma = d_gamma, .d_beta = d_beta});
    n.backward(w, {.d_y = d_y,
                   .d_x = w.nan_slice(rows, cols),
                   .d_gamma = later_gamma,
                   .d_beta = later_beta,
                   .partial = partial,
                   .sums_later = true});
    EXPECT_EQ(values(later_gamma), std::vector<float>(static_cast<size_t>(cols), 1));
    ops::norm_sums(w.ctx,
                   {.norms = {ops::NormSums::Norm{.partial = partial, .d_gamma = later_gamma, .d_beta = later_beta}}});
    EXPECT_EQ(bytes_of(later_gamma), bytes_of(d_gamma));
    EXPECT_EQ(d_beta.empty() ? "" : bytes_of(later_beta), d_beta.empty() ? "" : bytes_of(d_beta));
  });
}

TEST(Norm, BackwardNeedsNoResidualAndMayWriteOverItsInputs) {
  on_every_norm([](Workspace& w, int64_t rows, int64_t cols, NormKind kind) {
    const Norm n(w, rows, cols, kind);
    const Tensor d_y = w.random({rows, cols}), residual = w.random({rows, cols});
    const auto d_x = [&](const Tensor& d_y, const Tensor& d_residual, const Tensor& to) {
      n.backward(w, {.d_y = d_y,
                     .d_residual = d_residual,
                     .d_x = to,
                     .d_gamma = w.zeros({cols}),
                     .d_beta = n.beta.empty() ? Tensor() : w.zeros({cols})});
      return values(to);
    };
    const std::vector<float> summed = d_x(d_y, residual, w.nans({rows, cols}));
    const std::vector<float> alone = d_x(d_y, {}, w.nans({rows, cols}));
    Doubles want = to_doubles(residual);
    for (size_t i = 0; i < want.size(); ++i) want[i] += alone[i];
    expect_close(summed, want, tolerance(1, 4));
    const Tensor in_residual = w.copy(residual), in_d_y = w.copy(d_y);
    EXPECT_EQ(d_x(d_y, in_residual, in_residual), summed) << "in place of d_residual";
    EXPECT_EQ(d_x(in_d_y, residual, in_d_y), summed) << "in place of d_y";
  });
}

TEST(Norm, KeepsSmallDifferencesBesideALargeMean) {
  Workspace w;
  const Tensor x = w.random({4, 64}), ones = w.filled({64}, 1), zeros = w.zeros({64}), y = w.nans({4, 64});
  for (int64_t i = 0; i < x.numel(); ++i) x.ptr<float>()[i] += 1000;
  ops::norm_forward(w.ctx, {.x = x, .gamma = ones, .beta = zeros, .y = y, .mean = w.nans({4}), .rstd = w.nans({4})});
  expect_close(y, double_norm(NormKind::layer, 1e-5, to_doubles(x), to_doubles(ones), to_doubles(zeros)), 1e-3);
}

TEST(Norm, BackwardIsTheSameOnAnyNumberOfThreads) {
  expect_same_on_any_threads([](Workspace& w) {
    const Norm n(w, 377, 33);
    const Tensor d_x = w.nans({377, 33}), d_gamma = w.zeros({33}), d_beta = w.zeros({33});
    n.backward(w, {.d_y = w.random({377, 33}), .d_x = d_x, .d_gamma = d_gamma, .d_beta = d_beta});
    return bytes_of(n.y) + bytes_of(d_x) + bytes_of(d_gamma) + bytes_of(d_beta);
  });
}

}  // namespace
}  // namespace weft::testing
