// tests/tensor/residual_norm_test.cpp: residual sum with norm, forward and backward, compared with the
// definition in double for every storage type. Half-precision results are compared within their unit, f32
// sums within f32's.
#include "tensor/error.h"
#include "tensor/half.h"
#include "tests/tensor/workspace.h"

namespace weft::testing {
namespace {

constexpr int64_t kRowCounts[] = {1, 3, 17}, kWidths[] = {1, 7, 16, 100, 512};
constexpr float kEps = 1e-2f;

struct NormCase {
  DType storage;
  int64_t rows, cols;
  bool dropped, biased, bypassed;
  Dropout dropout() const { return dropped ? kTestDropout : Dropout{}; }
  std::string str() const {
    return fmt::format("{} [{}, {}]{}{}{}", name_of(storage), rows, cols, dropped ? " dropout" : "",
                       biased ? " bias" : "", bypassed ? " residual" : "");
  }
};

Doubles widened(Context& ctx, const Tensor& t) {
  const Buffer buffer(static_cast<size_t>(t.numel()) * sizeof(float));
  const Tensor wide = buffer.tensor(t.shape);
  ops::cast(ctx, {.x = t, .y = wide});
  return to_doubles(wide);
}

class Bench {  // tensors of one case; matrices are column slices of wider ones full of NaN
 public:
  Bench(Workspace& w, const NormCase& c) : w(w), c(c) {}
  Workspace& w;
  const NormCase c;

  Tensor random() {
    const Tensor t = space();
    ops::cast(w.ctx, {.x = w.random({c.rows, c.cols}), .y = t});
    return t;
  }
  Tensor space() {
    const Tensor t = arena_.tensor({c.rows, c.cols + 5}, c.storage);
    std::memset(t.data, 0xFF, t.bytes());
    return t.slice_cols(3, c.cols);
  }
  Tensor copy(const Tensor& x) {
    const Tensor t = space();
    ops::cast(w.ctx, {.x = x, .y = t});
    return t;
  }
  Doubles wide(const Tensor& t) { return widened(w.ctx, t); }
  double factor(size_t i) const {
    return dropout_factor(c.dropout(), static_cast<int64_t>(i) / c.cols, static_cast<int64_t>(i) % c.cols);
  }
  void expect_stored(const Tensor& got, const Doubles& want, const char* what) {
    const double unit = c.storage == DType::bf16 ? 0x1p-8 : c.storage == DType::f16 ? 0x1p-11 : 0;
    expect_within(wide(got), want, unit + 1e-5, what);
  }
  void expect_summed(const Tensor& got, const Doubles& want, const char* what) {
    expect_within(to_doubles(got), want, 1e-5, what);
  }

 private:
  static void expect_within(const Doubles& got, const Doubles& want, double relative, const char* what) {
    ASSERT_EQ(got.size(), want.size());
    for (size_t i = 0; i < want.size(); ++i)
      ASSERT_NEAR(got[i], want[i], relative * std::abs(want[i]) + 1e-4) << what << "[" << i << "]";
  }
  Arena arena_{size_t{1} << 20};
};

struct Statistics {  // of each row of h
  Doubles mean, rstd;
  Statistics(const Doubles& h, size_t cols) {
    for (size_t r = 0; r < h.size(); r += cols) {
      double m = 0, v = 0;
      for (size_t c = 0; c < cols; ++c) m += h[r + c] / static_cast<double>(cols);
      for (size_t c = 0; c < cols; ++c) v += (h[r + c] - m) * (h[r + c] - m) / static_cast<double>(cols);
      mean.push_back(m), rstd.push_back(1 / std::sqrt(v + kEps));
    }
  }
};

template <typename Check>
void on_every_case(bool backward, const Check& check) {
  const auto run = [&](Workspace& w, const NormCase& c) {
    if (::testing::Test::HasFatalFailure()) return;
    SCOPED_TRACE(c.str());
    Bench b(w, c);
    check(b);
  };
  for (const DType storage : {DType::f32, DType::bf16, DType::f16}) {
    for (const int64_t rows : kRowCounts) {
      Workspace w;
      for (const int64_t cols : kWidths)
        for (int variant = 0; variant < (backward ? 8 : 4); ++variant)
          run(w, {storage, rows, cols, (variant & 1) != 0, (variant & 2) != 0, (variant & 4) != 0});
    }
    Workspace w;
    run(w, {storage, 3, 5000, /*dropped=*/true, /*biased=*/true, /*bypassed=*/backward});
  }
}

TEST(ResidualNorm, ForwardMatchesTheDefinition) {
  on_every_case(/*backward=*/false, [](Bench& b) {
    const NormCase& c = b.c;
    const auto cols = static_cast<size_t>(c.cols);
    const Tensor gamma = b.w.random({c.cols}), beta = b.w.random({c.cols});
    const ops::ResidualNormForward a{.residual = b.random(),
                                     .x = b.random(),
                                     .bias = c.biased ? b.w.random({c.cols}) : Tensor(),
                                     .gamma = gamma,
                                     .beta = beta,
                                     .h = b.space(),
                                     .y = b.space(),
                                     .mean = b.w.nans({c.rows}),
                                     .rstd = b.w.nans({c.rows}),
                                     .dropout = c.dropout(),
                                     .eps = kEps};
    ops::residual_norm_forward(b.w.ctx, a);
    Doubles h = b.wide(a.x);
    const Doubles residual = b.wide(a.residual);
    for (size_t i = 0; i < h.size(); ++i) {
      if (c.biased) h[i] += a.bias.ptr<float>()[i % cols];
      h[i] = residual[i] + h[i] * b.factor(i);
    }
    b.expect_stored(a.h, h, "h");
    h = b.wide(a.h);  // the norm of the stored values
    const Statistics s(h, cols);
    Doubles y(h.size());
    for (size_t i = 0; i < h.size(); ++i)
      y[i] = (h[i] - s.mean[i / cols]) * s.rstd[i / cols] * gamma.ptr<float>()[i % cols] + beta.ptr<float>()[i % cols];
    b.expect_stored(a.y, y, "y");
    b.expect_summed(a.mean, s.mean, "mean");
    b.expect_summed(a.rstd, s.rstd, "rstd");
  });
}

// Random inputs of a case, and the statistics that forward would have saved.
ops::ResidualNormBackward backward_of(Bench& b) {
  const NormCase& c = b.c;
  const ops::ResidualNormBackward a{.d_y = b.random(),
                                    .h = b.random(),
                                    .gamma = b.w.random({c.cols}),
                                    .mean = b.w.nans({c.rows}),
                                    .rstd = b.w.nans({c.rows}),
                                    .d_residual = c.bypassed ? b.random() : Tensor(),
                                    .d_h = b.space(),
                                    .d_x = b.space(),
                                    .d_gamma = b.w.filled({c.cols}, 1),
                                    .d_beta = b.w.filled({c.cols}, 2),
                                    .d_bias = c.biased ? b.w.filled({c.cols}, 3) : Tensor(),
                                    .partial = b.w.nans({ops::kNormPartials, 3, c.cols}),
                                    .dropout = c.dropout()};
  const Statistics s(b.wide(a.h), static_cast<size_t>(c.cols));
  std::copy(s.mean.begin(), s.mean.end(), a.mean.ptr<float>());
  std::copy(s.rstd.begin(), s.rstd.end(), a.rstd.ptr<float>());
  return a;
}

TEST(ResidualNorm, SumsLeftForLaterHaveTheSameBits) {
  on_every_case(/*backward=*/true, [](Bench& b) {
    const auto sums_of = [](const ops::ResidualNormBackward& a) {
      return bytes_of(a.d_gamma) + bytes_of(a.d_beta) + (a.d_bias.empty() ? "" : bytes_of(a.d_bias));
    };
    const auto once_more = [&](ops::ResidualNormBackward a) {
      const int64_t cols = b.c.cols;
      a.d_h = b.space(), a.d_x = b.space();
      a.d_gamma = b.w.filled({cols}, 1), a.d_beta = b.w.filled({cols}, 2), a.sums_later = true;
      if (!a.d_bias.empty()) a.d_bias = b.w.filled({cols}, 3);
      return a;
    };
    const ops::ResidualNormBackward at_once = backward_of(b);
    ops::ResidualNormBackward first = once_more(at_once), last = once_more(at_once);
    first.partial = b.w.nans(at_once.partial.shape);  // the last one uses that of the sums made at once
    const std::string before = sums_of(first);
    for (const ops::ResidualNormBackward& a : {at_once, first, last}) ops::residual_norm_backward(b.w.ctx, a);
    EXPECT_EQ(sums_of(first), before);
    const auto later = [](const ops::ResidualNormBackward& a) {
      return ops::NormSums::Norm{.partial = a.partial, .d_gamma = a.d_gamma, .d_beta = a.d_beta, .d_bias = a.d_bias};
    };
    ops::norm_sums(b.w.ctx, {.norms = {later(first), {}, later(last)}});
    EXPECT_EQ(sums_of(first), sums_of(at_once));
    EXPECT_EQ(sums_of(last), sums_of(at_once));
  });
}

TEST(ResidualNorm, BackwardMatchesTheDefinition) {
  on_every_case(/*backward=*/true, [](Bench& b) {
    const NormCase& c = b.c;
    const auto cols = static_cast<size_t>(c.cols);
    const ops::ResidualNormBackward a = backward_of(b);
    ops::residual_norm_backward(b.w.ctx, a);
    const Doubles d_y = b.wide(a.d_y), h = b.wide(a.h), d_residual = c.bypassed ? b.wide(a.d_residual) : Doubles();
    const Statistics s(h, cols);
    Doubles d_h(h.size()), d_x(h.size()), d_gamma(cols, 1), d_beta(cols, 2), d_bias(cols, 3);
    for (size_t r = 0; r < h.size(); r += cols) {
      const auto normed = [&](size_t i) { return (h[r + i] - s.mean[r / cols]) * s.rstd[r / cols]; };
      const auto g = [&](size_t i) { return d_y[r + i] * a.gamma.ptr<float>()[i] / static_cast<double>(cols); };
      double mean_g = 0, mean_gh = 0;
      for (size_t i = 0; i < cols; ++i) mean_g += g(i), mean_gh += g(i) * normed(i);
      for (size_t i = 0; i < cols; ++i) {
        d_h[r + i] = s.rstd[r / cols] * (d_y[r + i] * a.gamma.ptr<float>()[i] - mean_g - normed(i) * mean_gh) +
                     (c.bypassed ? d_residual[r + i] : 0);
        d_x[r + i] = d_h[r + i] * b.factor(r + i);
        d_gamma[i] += d_y[r + i] * normed(i), d_beta[i] += d_y[r + i], d_bias[i] += d_x[r + i];
      }
    }
    b.expect_stored(a.d_h, d_h, "d_h");
    b.expect_stored(a.d_x, d_x, "d_x");
    b.expect_summed(a.d_gamma, d_gamma, "d_gamma");
    b.expect_summed(a.d_beta, d_beta, "d_beta");
    if (c.biased) b.expect_summed(a.d_bias, d_bias, "d_bias");
  });
}

TEST(ResidualNorm, ForwardMayWriteOverItsInputs) {
  for (const DType storage : {DType::f32, DType::bf16}) {
    Workspace w;
    Bench b(w, {storage, 5, 300, /*dropped=*/true, /*biased=*/true});
    ops::ResidualNormForward a{.residual = b.random(),
                               .x = b.random(),
                               .bias = b.w.random({300}),
                               .gamma = b.w.random({300}),
                               .beta = b.w.random({300}),
                               .h = b.space(),
                               .y = b.space(),
                               .mean = b.w.nans({5}),
                               .rstd = b.w.nans({5}),
                               .dropout = kTestDropout};
    ops::residual_norm_forward(b.w.ctx, a);
    const Doubles h = b.wide(a.h), y = b.wide(a.y);
    const auto in_place = [&](ops::ResidualNormForward again, const Tensor& over) {
      again.h = over;
      ops::residual_norm_forward(b.w.ctx, again);
      EXPECT_EQ(b.wide(again.h), h);
      EXPECT_EQ(b.wide(again.y), y);
    };
    ops::ResidualNormForward over_x = a, over_residual = a;
    over_x.x = b.copy(a.x), over_residual.residual = b.copy(a.residual);
    in_place(over_x, over_x.x);
    in_place(over_residual, over_residual.residual);
  }
}

TEST(ResidualNorm, BackwardMayWriteOverItsInputs) {
  for (const bool dropped : {false, true}) {
    Workspace w;
    Bench b(w, {DType::bf16, 5, 300, dropped, /*biased=*/true, /*bypassed=*/true});
    const ops::ResidualNormBackward a = backward_of(b);
    ops::residual_norm_backward(b.w.ctx, a);
    const Doubles d_h = b.wide(a.d_h), d_x = b.wide(a.d_x);
    ops::ResidualNormBackward over_d_y = a, over_residual = a;
    over_d_y.d_h = over_d_y.d_y = b.copy(a.d_y);
    over_residual.d_h = over_residual.d_residual = b.copy(a.d_residual);
    if (!dropped) over_residual.d_x = over_residual.d_h;
    for (const ops::ResidualNormBackward& again : {over_d_y, over_residual}) {
      ops::residual_norm_backward(b.w.ctx, again);
      EXPECT_EQ(b.wide(again.d_h), d_h);
      EXPECT_EQ(b.wide(again.d_x), d_x);
    }
  }
}

TEST(ResidualNorm, RefusesOneTensorForBothGradientsWhereDropoutParts) {
  Workspace w;
  Bench b(w, {DType::f32, 3, 7, /*dropped=*/true});
  ops::ResidualNormBackward a = backward_of(b);
  a.d_x = a.d_h;
  EXPECT_THROW(ops::residual_norm_backward(b.w.ctx, a), Error);
}

TEST(ResidualNorm, IsTheSameOnAnyNumberOfThreads) {
  expect_same_on_any_threads([](Workspace& w) {
    const int64_t rows = 377, cols = 33;
    const Tensor h = w.nans({rows, cols}), y = w.nans({rows, cols}), mean = w.nans({rows}), rstd = w.nans({rows});
    const Tensor gamma = w.random({cols}), d_h = w.nans({rows, cols}), d_x = w.nans({rows, cols});
    const Tensor d_gamma = w.zeros({cols}), d_beta = w.zeros({cols}), d_bias = w.zeros({cols});
    ops::residual_norm_forward(w.ctx, {.residual = w.random({rows, cols}),
                                       .x = w.random({rows, cols}),
                                       .bias = w.random({cols}),
                                       .gamma = gamma,
                                       .beta = w.random({cols}),
                                       .h = h,
                                       .y = y,
                                       .mean = mean,
                                       .rstd = rstd,
                                       .dropout = kTestDropout});
    ops::residual_norm_backward(w.ctx, {.d_y = w.random({rows, cols}),
                                        .h = h,
                                        .gamma = gamma,
                                        .mean = mean,
                                        .rstd = rstd,
                                        .d_h = d_h,
                                        .d_x = d_x,
                                        .d_gamma = d_gamma,
                                        .d_beta = d_beta,
                                        .d_bias = d_bias,
                                        .partial = w.nans({ops::kNormPartials, 3, cols}),
                                        .dropout = kTestDropout});
    return bytes_of(h) + bytes_of(y) + bytes_of(d_h) + bytes_of(d_x) + bytes_of(d_gamma) + bytes_of(d_beta) +
           bytes_of(d_bias);
  });
}

}  // namespace
}  // namespace weft::testing
