// tests/tensor/math_test.cpp: the scalar formulas compared with double precision and with their definitions.
#include "tensor/math.h"
#include "tensor/op/activation.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace weft {
namespace {

TEST(Exp, IsWithinTwoUnitsInTheLastPlace) {
  double worst = 0;
  for (double x = -86.9; x < 88.7; x += 0.00731) {
    const float f = static_cast<float>(x);
    const double want = std::exp(static_cast<double>(f));
    const double ulp = std::nextafter(static_cast<float>(want), INFINITY) - static_cast<float>(want);
    worst = std::max(worst, std::abs(exp_of(f) - want) / ulp);
  }
  EXPECT_LT(worst, 2.0);
}

TEST(Exp, HandlesTheEnds) {
  const float inf = std::numeric_limits<float>::infinity();
  EXPECT_EQ(exp_of(0.0f), 1.0f);
  EXPECT_EQ(exp_of(-inf), 0.0f);
  EXPECT_EQ(exp_of(-1000.0f), 0.0f);
  EXPECT_EQ(exp_of(inf), inf);
  EXPECT_EQ(exp_of(100.0f), inf);
  EXPECT_TRUE(std::isnan(exp_of(std::nanf(""))));
}

TEST(Log, IsWithinTwoUnitsInTheLastPlace) {
  double worst = 0;
  const auto check = [&](float x) {
    const double want = std::log(static_cast<double>(x));
    const float rounded = static_cast<float>(std::abs(want));
    const double ulp = std::nextafter(rounded, INFINITY) - rounded;
    worst = std::max(worst, std::abs(log_of(x) - want) / ulp);
  };
  for (float x = 1e-37f; x < 1e38f; x *= 1.00137f) check(x);
  for (float x = 0.9f; x < 1.1f; x += 1.7e-5f) check(x);
  check(std::numeric_limits<float>::max());
  EXPECT_LT(worst, 2.0);
}

TEST(Log, HandlesTheEnds) {
  const float inf = std::numeric_limits<float>::infinity();
  EXPECT_EQ(log_of(1.0f), 0.0f);
  EXPECT_EQ(log_of(inf), inf);
  EXPECT_TRUE(std::isnan(log_of(std::nanf(""))));
}

TEST(NormalCdf, MatchesErfcInDouble) {
  for (double x = -6; x <= 6; x += 0.00317) {
    const float f = static_cast<float>(x);
    const double d = f, cdf = 0.5 * std::erfc(-d / std::sqrt(2.0));
    EXPECT_NEAR(normal_cdf(f) / cdf, 1, 4e-7 + 1e-7 * d * d) << x;
  }
}

double activation_formula(Activation kind, double x) {
  switch (kind) {
    case Activation::relu:
      return std::max(x, 0.0);
    case Activation::gelu:
      return 0.5 * x * std::erfc(-x / std::sqrt(2.0));
    case Activation::gelu_tanh:
      return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * std::pow(x, 3))));
    case Activation::gelu_sigmoid:
      return x / (1 + std::exp(-1.702 * x));
    case Activation::silu:
      return x / (1 + std::exp(-x));
    case Activation::sigmoid:
      return 1 / (1 + std::exp(-x));
  }
  return std::nan("");
}

TEST(Activations, MatchTheirFormulasAndSlopes) {
  for (const auto& [name, kind] : enum_names(Activation{})) {
    SCOPED_TRACE(name);
    with_activation(kind, [kind = kind](auto function) {
      using Function = decltype(function);
      for (double x = -9.0001; x <= 9; x += 0.00317) {
        const float f = static_cast<float>(x);
        const double d = f, y = activation_formula(kind, d);
        const double slope = (activation_formula(kind, d + 1e-5) - activation_formula(kind, d - 1e-5)) / 2e-5;
        ASSERT_NEAR(Function::value(d), y, 1e-14 * (1 + std::abs(d))) << x;
        ASSERT_NEAR(Function::value(f), y, 3e-7 * (1 + std::abs(d))) << x;
        ASSERT_NEAR(Function::derivative(d), slope, 1e-9) << x;
        ASSERT_NEAR(Function::derivative(f), slope, 1e-6) << x;
      }
    });
  }
}

TEST(Activations, KeepTheEndsAndNaN) {
  for (const auto& [name, kind] : enum_names(Activation{})) {
    SCOPED_TRACE(name);
    with_activation(kind, [kind = kind](auto function) {
      using Function = decltype(function);
      const bool bounded = kind == Activation::sigmoid;
      EXPECT_EQ(Function::value(0.0f), bounded ? 0.5f : 0.0f);
      EXPECT_EQ(Function::value(-100.0f), 0.0f);
      EXPECT_EQ(Function::value(1e30f), bounded ? 1.0f : 1e30f);
      EXPECT_TRUE(std::isnan(Function::value(std::nanf(""))));
    });
  }
}

TEST(SoftmaxRow, MergesPartsIncludingEmptyOnes) {
  const std::vector<double> logits{0.3, -2, 5, 1.5};
  SoftmaxRow<double> whole, parts;
  for (double x : logits) whole = merge(whole, SoftmaxRow<double>{x, 1, x, 0});
  double sum = 0;
  for (double x : logits) sum += std::exp(x);
  EXPECT_NEAR(log_sum_exp(whole), std::log(sum), 1e-14);
  EXPECT_NEAR(whole.sum_logits, 4.8, 1e-14);
  parts = merge(merge(SoftmaxRow<double>{}, whole), SoftmaxRow<double>{});
  EXPECT_EQ(log_sum_exp(parts), log_sum_exp(whole));
}

TEST(SmoothedCrossEntropy, IsTheSumOverTheVocabulary) {
  const std::vector<double> logits{0.3, -2, 5, 1.5};
  SoftmaxRow<double> row;
  for (double x : logits) row = merge(row, SoftmaxRow<double>{x, 1, x, x == 5 ? x : 0});
  double want = 0;
  for (double x : logits) want -= (x == 5 ? 0.9 : 0.1 / 3) * (x - log_sum_exp(row));
  EXPECT_NEAR(smoothed_cross_entropy(row, LabelSmoothing<double>(0.1, 4)), want, 1e-14);
  EXPECT_NEAR(smoothed_cross_entropy(row, LabelSmoothing<double>(0.0, 4)), negative_log_likelihood(row), 1e-14);
}

TEST(SmoothedCrossEntropy, OfOneWordIsZero) {
  const SoftmaxRow<double> row{3, 1, 3, 3};
  EXPECT_EQ(smoothed_cross_entropy(row, LabelSmoothing<double>(0.1, 1)), 0);
}

TEST(Sinusoid, FollowsEachLayoutsFormula) {
  const auto table = [](PositionLayout layout, int64_t width) {
    std::vector<double> row;
    for (int64_t c = 0; c < width; ++c) row.push_back(sinusoid(layout, 3, c, width));
    return row;
  };
  const double a = 3 / std::pow(10000.0, 2.0 / 6), b = 3 / std::pow(10000.0, 4.0 / 6);
  const auto near = [](const std::vector<double>& got, const std::vector<double>& want) {
    ASSERT_EQ(got.size(), want.size());
    for (size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(got[i], want[i], 1e-12) << i;
  };
  using std::cos, std::sin;
  near(table(PositionLayout::interleaved, 6), {sin(3.0), cos(3.0), sin(a), cos(a), sin(b), cos(b)});
  near(table(PositionLayout::halves, 6), {sin(3.0), sin(a), sin(b), cos(3.0), cos(a), cos(b)});
  near(table(PositionLayout::tensor2tensor, 6), {sin(3.0), sin(0.03), sin(0.0003), cos(3.0), cos(0.03), cos(0.0003)});
}

TEST(Sinusoid, TakesOddWidths) {
  const double f = std::pow(10000.0, -2.0 / 3);
  EXPECT_NEAR(sinusoid(PositionLayout::interleaved, 2, 2, 3), std::sin(2 * f), 1e-12);
  EXPECT_NEAR(sinusoid(PositionLayout::halves, 2, 1, 3), std::sin(2 * f), 1e-12);
  EXPECT_NEAR(sinusoid(PositionLayout::halves, 2, 2, 3), std::cos(2.0), 1e-12);
  EXPECT_NEAR(sinusoid(PositionLayout::tensor2tensor, 2, 0, 3), std::sin(2.0), 1e-12);
  EXPECT_NEAR(sinusoid(PositionLayout::tensor2tensor, 2, 1, 3), std::cos(2.0), 1e-12);
  EXPECT_EQ(sinusoid(PositionLayout::tensor2tensor, 2, 2, 3), 0.0);
  EXPECT_EQ(sinusoid(PositionLayout::tensor2tensor, 2, 0, 1), 0.0);
  EXPECT_NEAR(sinusoid(PositionLayout::halves, 2, 0, 1), std::sin(2.0), 1e-12);
}

}  // namespace
}  // namespace weft
