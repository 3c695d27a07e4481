// tests/model/transformer_test.cpp: the model's gradients compared with differences of its loss, and
// independence of sentences and positions.
#include "model/transformer.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/small_model.h"

namespace weft::testing {
namespace {

using Ids = std::vector<int32_t>;

double loss_of(SmallModel& m, const Block& block, double smoothing) {
  Pass p = m.pass();
  return sum_of(m.ctx, m.model->loss_and_gradients(p, m.model->load(p, block), {.smoothing = smoothing}, nullptr)).loss;
}

// A directional derivative for each parameter tensor: (L(w + h v) - L(w - h v)) / 2h against g . v. On the
// emulated device only for a few tensors: LayerGradients and WholeModel cover all.
void check_gradients(const ModelConfig& config) {
  const auto world = make_single_communicator();
  SmallModel m(config, *world, 5);
  const Block block = random_blocks(config, 1, 30, 34, 9, 2).front();
  ops::fill(m.ctx, {.x = m.params.grads()});
  loss_of(m, block, 0.1);
  const auto gradients = gather(m.ctx, m.params, *world, true);
  const auto& params = m.params.params();
  for (size_t k = 0; k < params.size(); k += all_or_few(1u, 9u)) {
    const Param& param = params[k];
    const std::vector<float>& g = gradients.at(param.spec.name);
    const std::vector<float> kept = to_host<float>(m.ctx, param.value);
    double norm = 0;
    for (float x : g) norm += static_cast<double>(x) * x;
    norm = std::sqrt(norm);
    ASSERT_GT(norm, 0) << param.spec.name;
    const double h = 5e-3;  // along the gradient itself: the derivative is its norm
    const auto shifted = [&](double sign) {
      std::vector<float> moved = kept;
      for (size_t i = 0; i < g.size(); ++i) moved[i] = static_cast<float>(kept[i] + sign * h * g[i] / norm);
      put(m.ctx, moved, param.value);
      const double loss = loss_of(m, block, 0.1);
      put(m.ctx, kept, param.value);
      return loss;
    };
    const double derivative = (shifted(1) - shifted(-1)) / (2 * h);
    EXPECT_NEAR(derivative, norm, 2e-3 * norm + 2e-3) << param.spec.name;
  }
}

TEST(Transformer, GradientsMatchDifferencesOfTheLossPostNorm) {
  ModelConfig c = small_config();
  c.activation = FeedForwardActivation::gelu, c.bias_output = true, c.final_norm = true, c.tying = Tying::none;
  check_gradients(c);
}

TEST(Transformer, GradientsMatchDifferencesOfTheLossPreNormTiedWithDropout) {
  ModelConfig c = small_config();
  c.norm = NormPosition::pre, c.final_norm = true, c.activation = FeedForwardActivation::gelu;
  c.dropout = 0.2;
  check_gradients(c);
}

TEST(Transformer, GradientsMatchDifferencesOfTheLossWithLearnedPositions) {
  ModelConfig c = small_config();
  c.positions = Positions::learned, c.max_positions = 10, c.activation = FeedForwardActivation::gelu;
  c.dropout_embedding = 0.2;
  check_gradients(c);
}

TEST(Transformer, UnusedRowsChangeNoBit) {
  const ModelConfig config = small_config();
  const auto world = make_single_communicator();
  const Block block = random_blocks(config, 1, 40, 44, 9, 2).front();
  ASSERT_LT(block.source_tokens(), 40);
  ASSERT_LT(block.target_tokens(), 44);
  Block other = block;
  for (size_t i = static_cast<size_t>(block.source_tokens()); i < other.source.size(); ++i) other.source[i] = 7;
  for (size_t i = static_cast<size_t>(block.target_tokens()); i < other.target_in.size(); ++i) other.target_in[i] = 5;
  const auto run = [&](const Block& b) {
    SmallModel m(config, *world, 5);
    ops::fill(m.ctx, {.x = m.params.grads()});
    const double loss = loss_of(m, b, 0.1);
    return std::pair{loss, gather(m.ctx, m.params, *world, true)};
  };
  EXPECT_EQ(run(block), run(other));
}

TEST(Transformer, ASentenceDoesNotSeeItsNeighbours) {
  const ModelConfig config = small_config();
  const auto world = make_single_communicator();
  SmallModel m(config, *world, 5);
  BlockBuilder builder(24, 24);
  builder.add(Ids{3, 4, 5}, Ids{6, 7});
  builder.add(Ids{8, 9}, Ids{3, 3, 4});
  const Block first = builder.finish(0);
  builder.add(Ids{3, 4, 5}, Ids{6, 7});
  builder.add(Ids{10, 3, 4, 5, 6}, Ids{9});
  const Block second = builder.finish(0);
  const auto rows = [&](const Block& b) {
    Pass p = m.pass(0, false);
    return to_host<float>(m.ctx, m.model->loss(p, m.model->load(p, b), /*smoothing=*/0).nll.slice_rows(0, 3));
  };
  EXPECT_EQ(rows(first), rows(second));
}

TEST(Transformer, DropoutChangesWithStepAndBlockOnly) {
  ModelConfig config = small_config();
  config.dropout = 0.3;
  const auto world = make_single_communicator();
  SmallModel m(config, *world, 5);
  const Block block = random_blocks(config, 1, 30, 34, 9, 2).front();
  const auto loss = [&](uint32_t step, int64_t index, bool training) {
    Pass p = m.pass(index, training);
    m.scalars.set(m.ctx, {.step = step, .block = index});
    return sum_of(m.ctx, m.model->loss(p, m.model->load(p, block), 0)).loss;
  };
  EXPECT_EQ(loss(1, 0, true), loss(1, 0, true));
  EXPECT_NE(loss(1, 0, true), loss(2, 0, true));
  EXPECT_NE(loss(1, 0, true), loss(1, 1, true));
  EXPECT_EQ(loss(1, 0, false), loss(2, 1, false));
}

TEST(Transformer, ADryRunMeasuresExactlyWhatARealRunTakes) {
  const ModelConfig config = small_config();
  const auto world = make_single_communicator();
  const Block block = random_blocks(config, 1, 30, 34, 9, 2).front();
  SmallModel m(config, *world, 5);
  loss_of(m, block, 0.1);

  const TensorParallel tp(*world);
  ParamStore params(0, 1, DType::f32, test_device());
  ModelConfig resolved = config;
  resolved.resolve(1);
  Transformer model(resolved, params, 1);
  Context dry(test_device(), /*dry_run=*/true);
  Arena measuring(test_device());
  Pass p{.ctx = dry, .arena = measuring, .tp = tp, .training = true};
  BlockBuilder builder(30, 34);
  builder.add(Ids{}, Ids{});
  model.loss_and_gradients(p, model.load(p, builder.finish(0)), {.smoothing = 0.1}, nullptr);
  EXPECT_EQ(measuring.high_water(), m.arena.high_water());
}

TEST(Transformer, DifferentInputsGiveDifferentLossesInEachPositionLayout) {
  const auto world = make_single_communicator();
  std::vector<double> losses;
  for (Positions layout : {Positions::interleaved, Positions::halves, Positions::tensor2tensor, Positions::learned}) {
    ModelConfig config = small_config();
    config.positions = layout;
    SmallModel m(config, *world, 5);
    losses.push_back(loss_of(m, random_blocks(config, 1, 30, 34, 9, 2).front(), 0));
  }
  EXPECT_NE(losses[0], losses[1]);
  EXPECT_NE(losses[1], losses[2]);
}

}  // namespace
}  // namespace weft::testing
