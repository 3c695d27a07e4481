// tests/parity/transformer_test.cpp: loss and every gradient equal PyTorch's nn.Transformer with the same weights.
#include "model/transformer.h"

#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include "tests/parity/reference_cases.h"
#include "tests/support/compare.h"

namespace weft::testing {
namespace {

class PytorchTransformer : public ::testing::TestWithParam<ReferenceCase> {};

// The mean loss of a target token, weighted, and its gathered gradients; dp rank r has the r-th part of the sentences
// as its block.
GridResult mean_loss_on_grid(const ReferenceFile& file, int dp, int tp, const Doubles& pair_weights = {}) {
  const ModelConfig config = config_of(file);
  const auto weights = parameters_of(file, "weights", config);
  const double target_weight = block_of(file, 0, 1, pair_weights).target_weight();
  GridResult result;
  run_thread_ranks(dp * tp, [&](Communicator& world) {
    const Mesh mesh(world, {.dp = dp, .tp = tp});
    set_num_threads(1);
    SmallModel m(config, mesh.tp(), /*seed=*/1);
    put(m.ctx, weights, m.params);
    const DeviceGroup data_parallel(m.ctx, mesh.dp());
    GradSync sync(m.ctx, *data_parallel, m.params.grads(), Shard(m.params.matrix_numel(), 0, 1, /*bucket=*/256));
    sync.begin();
    const Block block = block_of(file, static_cast<size_t>(mesh.dp().rank()), static_cast<size_t>(dp), pair_weights);
    Pass p = m.pass(block.index, /*training=*/true, /*loss_scale=*/1 / target_weight);
    const BlockLoss loss = sum_of(
        m.ctx, m.model->loss_and_gradients(p, m.model->load(p, block), {.smoothing = file.number("smoothing")}, &sync));
    sync.wait();
    const BlockLoss sum{.loss = mesh.dp().sum(loss.loss), .nll = mesh.dp().sum(loss.nll)};
    auto gradients = gather(m.ctx, m.params, mesh.tp(), /*gradients=*/true);
    if (world.rank() == 0) result = {.loss = sum, .gradients = std::move(gradients)};
  });
  return result;
}

TEST_P(PytorchTransformer, HasTheSameLossAndEveryGradientOnEveryGrid) {
  const ReferenceFile file = open(GetParam());
  const auto want = parameters_of(file, "gradients", config_of(file));
  for (const auto& [dp, tp] : {std::pair{1, 1}, {2, 1}, {1, 2}, {2, 2}}) {
    if (config_of(file).num_kv_heads() % tp != 0) continue;
    SCOPED_TRACE(fmt::format("dp {} x tp {}", dp, tp));
    const GridResult got = mean_loss_on_grid(file, dp, tp);
    expect_close_in_norm(Doubles{got.loss.loss}, file.numbers("loss"), kTolerance, 0, "loss");
    expect_close_in_norm(Doubles{got.loss.nll}, file.numbers("nll"), kTolerance, 0, "nll");
    ASSERT_EQ(got.gradients.size(), want.size());
    for (const auto& [name, gradient] : want)
      expect_close_in_norm(got.gradients.at(name), gradient, kTolerance, 0, ("gradient of " + name).c_str());
  }
}

TEST(PytorchTransformerOfWeightedPairs, HasTheSameLossAndEveryGradientOnEveryGrid) {
  const ReferenceFile file("weighted_pairs.h5", "pre_gelu");
  const auto want = parameters_of(file, "gradients", config_of(file));
  for (const auto& [dp, tp] : {std::pair{1, 1}, {2, 1}, {1, 2}, {2, 2}}) {
    SCOPED_TRACE(fmt::format("dp {} x tp {}", dp, tp));
    const GridResult got = mean_loss_on_grid(file, dp, tp, file.numbers("pair_weights"));
    expect_close_in_norm(Doubles{got.loss.loss}, file.numbers("loss"), kTolerance, 0, "loss");
    expect_close_in_norm(Doubles{got.loss.nll}, file.numbers("nll"), kTolerance, 0, "nll");
    ASSERT_EQ(got.gradients.size(), want.size());
    for (const auto& [name, gradient] : want)
      expect_close_in_norm(got.gradients.at(name), gradient, kTolerance, 0, ("gradient of " + name).c_str());
  }
}

TEST_P(PytorchTransformer, GivesEachTargetRowTheSameLikelihood) {
  const ReferenceFile file = open(GetParam());
  const ModelConfig config = config_of(file);
  const auto world = make_single_communicator();
  SmallModel m(config, *world, /*seed=*/1);
  put(m.ctx, parameters_of(file, "weights", config), m.params);
  const Block block = block_of(file);
  Pass p = m.pass(0, /*training=*/false);
  const Tensor nll =
      m.model->loss(p, m.model->load(p, block), /*smoothing=*/0).nll.slice_rows(0, block.target_tokens());
  expect_close_in_norm(to_host<float>(m.ctx, nll), file.numbers("row_nll"), kTolerance, 0, "nll of the rows");
}

INSTANTIATE_TEST_SUITE_P(Cases, PytorchTransformer, ::testing::ValuesIn(kReferenceCases), name_of);

TEST(PytorchComparison, RefusesTenTolerances) {
  const Doubles want{3, -4};
  expect_close_in_norm(Doubles{3 + 4 * kTolerance, -4}, want, kTolerance, 0, "near");
  EXPECT_NONFATAL_FAILURE(expect_close_in_norm(Doubles{3 + 50 * kTolerance, -4}, want, kTolerance, 0, "far"), "far");
}

}  // namespace
}  // namespace weft::testing
