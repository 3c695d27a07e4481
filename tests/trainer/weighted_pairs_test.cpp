// tests/trainer/weighted_pairs_test.cpp: training on pairs with weights.
#include <gtest/gtest.h>

#include <cmath>
#include <memory>

#include "tests/support/small_run.h"

namespace weft::testing {
namespace {

TextCorpus corpus_of(const std::function<double(int)>& weight) {
  return TextCorpus(/*num_pairs=*/300, /*vocabulary=*/290, /*seed=*/1, /*like=*/"", {.weight = weight, .score = {}});
}

double uneven(int i) { return 0.25 * (i % 7); }

TEST(WeightedTraining, WithWeightsOfOneIsBitEqualToTrainingWithout) {
  const TextCorpus plain(300), ones = corpus_of([](int) { return 1; });
  for (const Precision precision : {Precision::f32, Precision::bf16}) {
    const Trained want = train(plain, {.dp = 2, .steps = 3, .precision = precision});
    const Trained got = train(ones, {.dp = 2, .steps = 3, .precision = precision});
    EXPECT_EQ(got.losses, want.losses);
    EXPECT_EQ(got.params, want.params);
  }
}

TEST(WeightedTraining, DoesNotDependOnTheUnitOfTheWeights) {
  const Part part{.steps = 3};
  const Trained want = train(corpus_of(uneven), part);
  const Trained got = train(corpus_of([](int i) { return 64 * uneven(i); }), part);
  EXPECT_EQ(got.losses, want.losses);
  EXPECT_EQ(got.params, want.params);
  EXPECT_NE(train(TextCorpus(300), part).losses, want.losses);
}

TEST(WeightedTraining, IsTheSameOnEveryGrid) {
  const TextCorpus corpus = corpus_of(uneven);
  const int steps = all_or_few(10, 3);
  const Trained one = train(corpus, {.steps = steps});
  for (const auto& [dp, tp, zero] : {std::tuple{2, 1, 0}, {4, 1, 1}, {1, 2, 0}, {2, 2, 0}})
    expect_equal_to_rounding(train(corpus, {.dp = dp, .tp = tp, .steps = steps, .zero = zero}), one);
}

TEST(WeightedTraining, InHalfPrecisionLearnsAsF32Does) {
  const TextCorpus corpus = corpus_of([](int i) { return 1e-3 * uneven(i); });
  const int steps = all_or_few(30, 5);
  const Trained full = train(corpus, {.steps = steps});
  for (const Precision precision : {Precision::bf16, Precision::f16})
    expect_within(kBandToF32, train(corpus, {.steps = steps, .precision = precision}).losses, full.losses);
}

TEST(WeightedTraining, AStepWithoutWeightChangesNothing) {
  const TextCorpus corpus = corpus_of([](int) { return 0; });
  const auto world = make_single_communicator();
  const RunConfig config = resolved(run_config(corpus), 1);
  const Mesh mesh(*world, config.parallel, test_rank(*world));
  SmallRun run(config, mesh);
  Trainer& trainer = run.trainer;
  Context& ctx = trainer.replica().context();
  const auto before = gather(ctx, trainer.replica().params(), mesh.tp(), /*gradients=*/false);
  const StepReport report = run.step();
  EXPECT_TRUE(std::isnan(report.loss()) && std::isnan(report.nll()));
  EXPECT_EQ(report.grad_norm, 0);
  EXPECT_EQ(report.totals.target_weight, 0);
  EXPECT_GT(report.totals.target_tokens, 0);
  EXPECT_FALSE(report.skipped());
  EXPECT_EQ(gather(ctx, trainer.replica().params(), mesh.tp(), /*gradients=*/false), before);
  const TrainState state = run.snapshot();
  EXPECT_EQ(state.step, 1);
  EXPECT_EQ(state.optimizer_steps, 0);
}

// The loss is the mean of the pairs that weigh something: those of weight 0 teach nothing, whatever they are.
TEST(WeightedTraining, ReportsTheWeightOfAStepsTokens) {
  const TextCorpus corpus = corpus_of([](int i) { return i % 2; });
  const auto world = make_single_communicator();
  const RunConfig config = resolved(run_config(corpus), 1);
  const Mesh mesh(*world, config.parallel, test_rank(*world));
  SmallRun run(config, mesh);
  const StepReport report = run.step();
  EXPECT_GT(report.totals.target_weight, 0);
  EXPECT_LT(report.totals.target_weight, static_cast<double>(report.totals.target_tokens));
  EXPECT_NEAR(report.loss(), std::log(static_cast<double>(config.model.target_vocabulary)), 1.5);
}

}  // namespace
}  // namespace weft::testing
