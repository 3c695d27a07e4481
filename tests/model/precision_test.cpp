// tests/model/precision_test.cpp: a model in bf16 or f16 gives the results of f32 up to the rounding of its
// storage, and the same on every grid.
//
// Errors are in units u, the largest relative error of one rounding: 2^-8 in bf16, 2^-11 in f16. Roundings
// are independent: n of them between an input and a gradient add up to about u sqrt(n / 3). These models
// round some 25 times forward and as often backward, which gives 4 u. The measured error is 2 to 4 u over all
// gradients together, and up to 6 u for gradients with cancellation. A mistake does not shrink with u as
// rounding does, so the f16 test is eight times as strict as that of bf16.
#include <gtest/gtest.h>

#include "tests/support/definition/kinks.h"
#include "tests/support/grid_comparison.h"

namespace weft::testing {
namespace {

struct PrecisionCase {
  DType storage;
  NormPosition norm;
};

double unit(DType storage) { return storage == DType::bf16 ? 0x1p-8 : 0x1p-11; }

ModelConfig model_of(NormPosition norm) {
  ModelConfig c;
  c.width = 32, c.heads = 4, c.feed_forward = 48, c.encoder_layers = c.decoder_layers = 2;
  c.norm = norm, c.final_norm = norm == NormPosition::pre;
  c.source_vocabulary = c.target_vocabulary = 37;  // a prime: padded
  c.activation = FeedForwardActivation::gelu;      // no kinks, at which rounding would cause a jump
  c.dropout = 0.1, c.dropout_attention = 0.2, c.dropout_feed_forward = 0.3, c.dropout_embedding = 0.15;
  return c;
}

std::vector<float> joined(const GridResult& r) {
  std::vector<float> all;
  for (const auto& [name, gradient] : r.gradients) all.insert(all.end(), gradient.begin(), gradient.end());
  return all;
}

struct RelativeError {
  double loss = 0, all = 0, worst = 0;  // relative; of all gradients together and of the worst parameter
  std::string worst_name;
};

RelativeError error_of(const GridResult& got, const GridResult& want) {
  RelativeError e{.loss = std::abs(got.loss.loss / want.loss.loss - 1),
                  .all = relative_error(joined(got), joined(want))};
  for (const auto& [name, gradient] : want.gradients) {
    const double error = relative_error(got.gradients.at(name), gradient);
    if (error > e.worst) e.worst = error, e.worst_name = name;
  }
  return e;
}

class StoredAs : public ::testing::TestWithParam<PrecisionCase> {
 protected:
  const ModelConfig config_ = model_of(GetParam().norm);
  const std::vector<Block> blocks_ = random_blocks(config_, /*count=*/2, 60, 66, 9, /*seed=*/3);
  const double u_ = unit(GetParam().storage);

  static constexpr double kLossUnits = 0.25, kAllUnits = 5, kWorstUnits = 10;

  GridResult run(const std::vector<Block>& blocks, int dp, int tp, DType storage) const {
    return run_on_grid(config_, blocks, dp, tp, /*smoothing=*/0.1, {.storage = storage});
  }
  void expect_close(const GridResult& got, const GridResult& want) const {
    const RelativeError e = error_of(got, want);
    EXPECT_LT(e.loss, kLossUnits * u_);
    EXPECT_LT(e.all, kAllUnits * u_);
    EXPECT_LT(e.worst, kWorstUnits * u_) << e.worst_name;
  }
};

TEST_P(StoredAs, HalfPrecisionGivesLossAndGradientsOfF32) {
  expect_close(run(blocks_, 1, 1, GetParam().storage), run(blocks_, 1, 1, DType::f32));
}

// Data parallelism adds f32 gradients and rounds nothing. Tensor parallelism sums partial results in f32 that
// one rank rounds.
TEST_P(StoredAs, HalfPrecisionGivesTheSameOnEveryGrid) {
  const GridResult one = run(blocks_, 1, 1, GetParam().storage), split = run(blocks_, 1, 2, GetParam().storage);
  EXPECT_EQ(differences(run(blocks_, 2, 1, GetParam().storage), one), std::vector<std::string>{});
  EXPECT_EQ(differences(run(blocks_, 2, 2, GetParam().storage), split), std::vector<std::string>{});
  expect_close(split, one);
  expect_close(run(blocks_, 1, 4, GetParam().storage), one);
}

// The same sums are rounded at the same places. Only gradients of norms and biases, in f32, are added otherwise.
TEST_P(StoredAs, HalfPrecisionGivesTheSameWithSplitRows) {
  for (const int tp : {2, 3}) {
    ModelConfig config = config_;
    if (tp == 3) config.heads = 3, config.width = 30;
    const auto run = [&](bool sequence) {
      return run_on_grid(config, blocks_, 1, tp, 0.1, {.storage = GetParam().storage, .sequence = sequence});
    };
    const GridResult split = run(/*sequence=*/true), whole = run(/*sequence=*/false);
    EXPECT_EQ(differences(split, whole), std::vector<std::string>{});
    EXPECT_EQ(split.loss.loss, whole.loss.loss);
    for (const auto& [name, gradient] : whole.gradients) {
      if (name.find("norm.") != std::string::npos || name.ends_with("out.bias") || name.ends_with("down.bias"))
        continue;
      EXPECT_EQ(split.gradients.at(name), gradient) << name;
    }
  }
}

TEST_P(StoredAs, HalfPrecisionShowsAnotherSentence) {
  std::vector<Block> other = blocks_;
  other.back().source.front() = other.back().source.front() == 5 ? 6 : 5;
  const RelativeError e = error_of(run(other, 1, 1, GetParam().storage), run(blocks_, 1, 1, DType::f32));
  EXPECT_GT(e.all, 2 * kAllUnits * u_);
  EXPECT_GT(e.worst, 2 * kWorstUnits * u_);
}

INSTANTIATE_TEST_SUITE_P(
    Cases, StoredAs,
    ::testing::Values(PrecisionCase{DType::bf16, NormPosition::post}, PrecisionCase{DType::bf16, NormPosition::pre},
                      PrecisionCase{DType::f16, NormPosition::post}, PrecisionCase{DType::f16, NormPosition::pre}),
    [](const auto& info) {
      return fmt::format("{}_{}", name_of(info.param.storage), info.param.norm == NormPosition::pre ? "pre" : "post");
    });

}  // namespace
}  // namespace weft::testing
