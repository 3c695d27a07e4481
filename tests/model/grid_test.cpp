// tests/model/grid_test.cpp: loss and gathered gradients are the same on every grid, with all dropouts and label
// smoothing on.
#include <gtest/gtest.h>

#include "tests/support/small_model.h"

namespace weft::testing {
namespace {

struct Variant {
  const char* name;
  NormPosition norm;
  Tying tying;
  bool final_norm, biases;
  Activation activation;
};

ModelConfig configure(const Variant& v) {
  ModelConfig c = small_config();
  c.norm = v.norm, c.tying = v.tying, c.final_norm = v.final_norm, c.activation = v.activation;
  c.bias_attention = c.bias_feed_forward = c.bias_output = v.biases;
  c.dropout = 0.1, c.dropout_attention = 0.2, c.dropout_feed_forward = 0.3, c.dropout_embedding = 0.15;
  return c;
}

class EveryGrid : public ::testing::TestWithParam<Variant> {};

TEST_P(EveryGrid, GivesTheLossAndGradientsOfOneRank) {
  const ModelConfig config = configure(GetParam());
  const std::vector<Block> blocks = random_blocks(config, /*count=*/4, 30, 34, 9, /*seed=*/1);
  const GridResult one = run_on_grid(config, blocks, 1, 1, 0.1);
  for (const auto& [dp, tp] : {std::pair{2, 1}, {1, 2}, {2, 2}, {1, 4}, {4, 1}}) {
    SCOPED_TRACE(fmt::format("dp {} x tp {}", dp, tp));
    const GridResult grid = run_on_grid(config, blocks, dp, tp, 0.1);
    EXPECT_NEAR(grid.loss.loss, one.loss.loss, 2e-6 * one.loss.loss);
    EXPECT_NEAR(grid.loss.nll, one.loss.nll, 2e-6 * one.loss.nll);
    ASSERT_EQ(grid.gradients.size(), one.gradients.size());
    for (const auto& [name, gradient] : one.gradients)
      EXPECT_LT(relative_error(grid.gradients.at(name), gradient), 2e-5) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Variants, EveryGrid,
    ::testing::Values(Variant{"post_all", NormPosition::post, Tying::all, false, true, Activation::relu},
                      Variant{"post_output", NormPosition::post, Tying::output, true, true, Activation::gelu},
                      Variant{"post_none", NormPosition::post, Tying::none, true, false, Activation::relu},
                      Variant{"pre_all", NormPosition::pre, Tying::all, true, false, Activation::gelu},
                      Variant{"pre_output", NormPosition::pre, Tying::output, true, true, Activation::relu},
                      Variant{"pre_none", NormPosition::pre, Tying::none, false, true, Activation::gelu}),
    [](const auto& info) { return info.param.name; });

TEST(GridCheck, SeesAGradientThatOneRankLost) {
  const ModelConfig config = configure({"", NormPosition::pre, Tying::all, true, true, Activation::relu});
  std::vector<Block> blocks = random_blocks(config, 2, 30, 34, 9, 1);
  const GridResult both = run_on_grid(config, blocks, 1, 1, 0.1);
  blocks.pop_back();
  const GridResult one = run_on_grid(config, blocks, 1, 1, 0.1);
  EXPECT_GT(relative_error(one.gradients.at("embedding.weight"), both.gradients.at("embedding.weight")), 2e-3);
}

}  // namespace
}  // namespace weft::testing
