// tests/model/consistency_test.cpp: losses of two passes and their gradients are the same on every grid, with split
// rows, with recomputation, and in half precision up to its rounding.
#include <gtest/gtest.h>

#include "tests/support/grid_comparison.h"

namespace weft::testing {
namespace {

constexpr LossOptions kSimcut{.consistency = Consistency::simcut, .weight = 3, .cut_rate = 0.2};
constexpr LossOptions kRdrop{.consistency = Consistency::rdrop, .weight = 5};

ModelConfig small_model(double dropout) {
  ModelConfig c;
  c.width = 16, c.heads = 4, c.feed_forward = 20, c.encoder_layers = c.decoder_layers = 2;
  c.norm = NormPosition::pre, c.final_norm = true;
  c.activation = FeedForwardActivation::gelu;      // no kinks, at which rounding would cause a jump
  c.source_vocabulary = c.target_vocabulary = 23;  // a prime: padded
  c.dropout = dropout;
  return c;
}

class BothPasses : public ::testing::TestWithParam<LossOptions> {
 protected:
  GridResult run(const Grid& grid, StepOptions options = {}) const {
    options.consistency = GetParam(), options.sequence = grid.sequence;
    return run_on_grid(config_, blocks_, grid.dp, grid.tp, 0.1, options);
  }

  const ModelConfig config_ = small_model(0.2);
  const std::vector<Block> blocks_ = random_blocks(config_, /*count=*/4, 20, 24, 8, /*seed=*/5);
};

TEST_P(BothPasses, HaveTheSameLossAndGradientsOnEveryGrid) {
  const GridResult one = run({1, 1});
  EXPECT_EQ(blind_spots(one, one), std::vector<std::string>{}) << "errors of ten tolerances that nobody would see";
  for (const Grid& grid : {Grid{2, 1}, {1, 2}, {2, 2}, {1, 4}, {1, 2, /*sequence=*/true}, {2, 2, true}})
    for (const std::string& difference : differences(run(grid), one))
      ADD_FAILURE() << grid.name() << ", " << difference;
}

TEST_P(BothPasses, HaveTheSameBitsWithRecomputation) {
  const GridResult kept = run({1, 1}), repeated = run({1, 1}, {.recompute = true});
  EXPECT_EQ(kept.loss.loss, repeated.loss.loss);
  EXPECT_EQ(kept.gradients, repeated.gradients);
}

TEST_P(BothPasses, HaveTheSameResultsInHalfPrecisionUpToItsRounding) {
  const GridResult exact = run({1, 1});
  for (const auto& [storage, unit] : {std::pair{DType::bf16, 0x1p-8}, {DType::f16, 0x1p-11}})
    for (const Grid& grid : {Grid{1, 1}, {2, 2}}) {
      const GridResult half = run(grid, {.storage = storage});
      EXPECT_NEAR(half.loss.loss / exact.loss.loss, 1, 4 * unit) << grid.name();
      std::vector<float> got, want;
      for (const auto& [name, gradient] : exact.gradients) {
        want.insert(want.end(), gradient.begin(), gradient.end());
        got.insert(got.end(), half.gradients.at(name).begin(), half.gradients.at(name).end());
      }
      EXPECT_LT(relative_error(got, want), 8 * unit) << grid.name();
    }
}

TEST_P(BothPasses, DifferFromOnePass) {
  const GridResult one_pass = run_on_grid(config_, blocks_, 1, 1, 0.1);
  EXPECT_EQ(differences(run({1, 1}), one_pass).size(), one_pass.gradients.size() + 2 - (GetParam().cut_rate > 0));
}

INSTANTIATE_TEST_SUITE_P(Losses, BothPasses, ::testing::Values(kSimcut, kRdrop),
                         [](const auto& info) { return std::string(name_of_enum(info.param.consistency)); });

TEST(EqualPasses, HaveTheLossAndGradientsOfOnePass) {
  const ModelConfig config = small_model(0);
  const std::vector<Block> blocks = random_blocks(config, /*count=*/2, 20, 24, 8, /*seed=*/5);
  const GridResult one_pass = run_on_grid(config, blocks, 1, 1, 0.1);
  for (LossOptions options : {kSimcut, kRdrop}) {
    options.cut_rate = 0;
    EXPECT_EQ(differences(run_on_grid(config, blocks, 1, 1, 0.1, {.consistency = options}), one_pass),
              std::vector<std::string>{});
  }
}

}  // namespace
}  // namespace weft::testing
