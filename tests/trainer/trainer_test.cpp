// tests/trainer/trainer_test.cpp: every grid trains the same, and a resumed run is the run that was never stopped.
#include "trainer/trainer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <mutex>

#include "tests/support/small_run.h"

namespace weft::testing {
namespace {

const TextCorpus& corpus() {
  static const TextCorpus text(/*num_pairs=*/300);
  return text;
}

constexpr Precision kHalves[] = {Precision::bf16, Precision::f16};

TEST(Training, TwentyStepsAreTheSameOnEveryGrid) {
  const Trained one = train(corpus(), {});
  EXPECT_LT(one.losses.back(), one.losses.front());
  for (const auto& [dp, tp] : {std::pair{2, 1}, {1, 2}, {2, 2}}) {
    SCOPED_TRACE(fmt::format("dp {} x tp {}", dp, tp));
    expect_equal_to_rounding(train(corpus(), {.dp = dp, .tp = tp}), one);
  }
}

// Data parallelism only adds f32 gradients; tensor parallelism rounds at other places, once less a sum.
TEST(Training, TwentyStepsInHalvesAreTheSameOnEveryGrid) {
  for (const Precision precision : kHalves) {
    const Trained one = train(corpus(), {.precision = precision});
    for (const auto& [dp, tp] : {std::pair{2, 1}, {1, 2}, {2, 2}}) {
      SCOPED_TRACE(fmt::format("{} dp {} x tp {}", name_of(storage_of(precision)), dp, tp));
      expect_within(kBandOfGrids, train(corpus(), {.dp = dp, .tp = tp, .precision = precision}).losses, one.losses);
    }
  }
}

TEST(Training, HalvesLearnAsF32Does) {
  const Trained full = train(corpus(), {.steps = 60});
  EXPECT_LT(full.losses.back(), 0.8 * full.losses.front());
  for (const Precision precision : kHalves) {
    SCOPED_TRACE(name_of(storage_of(precision)));
    expect_within(kBandToF32, train(corpus(), {.steps = 60, .precision = precision}).losses, full.losses);
  }
}

class EveryPrecision : public ::testing::TestWithParam<Precision> {};
INSTANTIATE_TEST_SUITE_P(Training, EveryPrecision, ::testing::Values(Precision::f32, Precision::bf16, Precision::f16),
                         [](const auto& info) { return std::string(name_of(storage_of(info.param))); });

TEST_P(EveryPrecision, AResumedRunIsBitEqualToOneThatWasNotStopped) {
  for (const auto& [dp, tp] : {std::pair{1, 1}, {2, 1}, {1, 2}}) {
    SCOPED_TRACE(fmt::format("dp {} x tp {}", dp, tp));
    const TemporaryFolder folder;
    const auto part = [&, dp = dp, tp = tp](int steps, const char* from, const std::string& to) {
      return train(
          corpus(),
          {.dp = dp, .tp = tp, .steps = steps, .from = *from ? folder / from : "", .to = to, .precision = GetParam()});
    };
    const Trained whole = part(20, "", "");
    const Trained first = part(7, "", folder.path());
    const Trained second = part(6, "step-00000007", folder.path());
    const Trained third = part(7, "step-00000013", "");
    std::vector<double> losses = first.losses;
    losses.insert(losses.end(), second.losses.begin(), second.losses.end());
    losses.insert(losses.end(), third.losses.begin(), third.losses.end());
    EXPECT_EQ(losses, whole.losses);
    EXPECT_EQ(third.params, whole.params);
  }
}

TEST(Training, ARunOfTwoByOneGoesOnAsOneByTwo) {
  const TemporaryFolder folder;
  const Trained whole = train(corpus(), {.steps = 20});
  train(corpus(), {.dp = 2, .tp = 1, .steps = 10, .to = folder.path()});
  const Trained rest = train(corpus(), {.dp = 1, .tp = 2, .steps = 10, .from = folder.path() + "/step-00000010"});
  expect_equal_to_rounding(rest, whole, /*first=*/10);
}

TEST(Training, GoesOnInAnotherPrecisionFromTheSameParametersAndMoments) {
  const Trained full = train(corpus(), {.steps = 30});
  for (const Precision halves : kHalves) {
    SCOPED_TRACE(name_of(storage_of(halves)));
    const TemporaryFolder folder;
    const std::string at_10 = folder / "step-00000010", at_20 = folder / "step-00000020";
    const Trained first = train(corpus(), {.steps = 10, .to = folder.path()});
    EXPECT_EQ(train(corpus(), {.steps = 0, .from = at_10, .precision = halves}).params, first.params);
    const Trained second = train(corpus(), {.steps = 10, .from = at_10, .to = folder.path(), .precision = halves});
    expect_within(kBandToF32, second.losses, full.losses, /*first=*/10);
    EXPECT_EQ(train(corpus(), {.steps = 0, .from = at_20}).params, second.params);
    expect_within(kBandToF32, train(corpus(), {.steps = 10, .from = at_20}).losses, full.losses, /*first=*/20);
  }
}

// A step of f16 whose gradients overflow changes nothing but the scale, which backs off until they fit.
TEST(Training, AnOverflowIsSkippedByAllRanksAndLowersTheScale) {
  for (const auto& [dp, tp] : {std::pair{1, 1}, {2, 1}, {1, 2}}) {
    SCOPED_TRACE(fmt::format("dp {} x tp {}", dp, tp));
    const TemporaryFolder folder;
    std::mutex reporting;
    run_thread_ranks(dp * tp, [&, dp = dp, tp = tp](Communicator& world) {
      RunConfig config = run_config(corpus());
      config.parallel = {.dp = dp, .tp = tp};
      config.train.precision = Precision::f16;
      config = resolve(config, world.size());
      const Mesh mesh(world, config.parallel, test_rank(world));
      Trainer trainer(config, mesh);
      TrainState state;
      trainer.update(state);
      state.loss_scale.value = 0x1p30;
      trainer.load(trainer.save(folder.path(), state, ""), state);
      const auto before = gather(trainer.context(), trainer.params(), mesh.tp(), /*gradients=*/false);
      int skipped = 0;
      StepReport r = trainer.step();
      for (; r.skipped && skipped < 40; r = trainer.step()) {
        const std::lock_guard lock(reporting);
        EXPECT_EQ(r.loss_scale, std::ldexp(1.0, 30 - skipped++));
        EXPECT_TRUE(std::isfinite(r.loss));
      }
      trainer.update(state);
      const auto after = gather(trainer.context(), trainer.params(), mesh.tp(), /*gradients=*/false);
      const std::lock_guard lock(reporting);
      EXPECT_GT(skipped, 0);
      EXPECT_TRUE(std::isfinite(r.grad_norm));
      EXPECT_EQ(state.step, skipped + 1);
      EXPECT_EQ(state.optimizer_steps, 1);
      EXPECT_EQ(state.loss_scale, (LossScale{.value = std::ldexp(1.0, 30 - skipped), .good_steps = 1}));
    });
  }
}

TEST(Training, RefusesToGoOnWithAnotherOrderOfSentences) {
  const TemporaryFolder folder;
  train(corpus(), {.steps = 1, .to = folder.path()});
  RunConfig config = run_config(corpus());
  config.train.seed = 2;
  const auto world = make_single_communicator();
  config = resolve(config, 1);
  const Mesh mesh(*world, config.parallel, test_rank(*world));
  Trainer trainer(config, mesh);
  TrainState state;
  try {
    trainer.load(folder.path() + "/step-00000001", state);
    FAIL() << "a cursor of another order was taken";
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("train.seed = 1, now it is 2"), std::string::npos) << e.what();
  }
}

TEST(Training, AFailedSaveSaysThatTheLastCheckpointIsKept) {
  const TextCorpus corpus(/*num_pairs=*/40);
  try {
    train(corpus, {.steps = 1, .to = corpus.folder() + "/manifest.json"});
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::io);
    EXPECT_EQ(e.frames(), std::vector<std::string>{"while saving step 1; the last complete checkpoint is kept"});
  }
}

TEST(Plan, RefusesBlocksThatDoNotDivideByTheRanks) {
  RunConfig config = run_config(corpus());
  config.batch.blocks = 3;
  try {
    resolve(config, 2);
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("batch.blocks = 3 does not divide by parallel.dp = 2"), std::string::npos)
        << e.what();
  }
}

}  // namespace
}  // namespace weft::testing
