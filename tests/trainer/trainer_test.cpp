// tests/trainer/trainer_test.cpp: every grid trains the same, and a resumed run equals an uninterrupted one.
#include "trainer/trainer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <mutex>

#include "tests/support/errors.h"
#include "tests/support/small_run.h"
#include "trainer/precision.h"

namespace weft::testing {
namespace {

const TextCorpus& corpus() {
  static const TextCorpus text(/*num_pairs=*/300);
  return text;
}

int some_steps() { return all_or_few(20, 3); }

std::string step_folder(const TemporaryFolder& folder, int step) { return folder / fmt::format("step-{:08}", step); }

constexpr Precision kHalves[] = {Precision::bf16, Precision::f16};

TEST(Training, TwentyStepsAreTheSameOnEveryGrid) {
  const Trained one = train(corpus(), {.steps = some_steps()});
  EXPECT_LT(one.losses.back(), one.losses.front());
  for (const auto& [dp, tp] : {std::pair{2, 1}, {1, 2}, {2, 2}}) {
    SCOPED_TRACE(fmt::format("dp {} x tp {}", dp, tp));
    expect_equal_to_rounding(train(corpus(), {.dp = dp, .tp = tp, .steps = some_steps()}), one);
  }
  const Part split{.dp = 2, .tp = 2, .steps = some_steps(), .sequence = true};
  expect_equal_to_rounding(train(corpus(), split), one);
}

TEST(Training, OnAMixOfThreeCorporaOfVeryDifferentSizeIsTheSameOnEveryGrid) {
  static const TextCorpus small(/*num_pairs=*/40, 290, /*seed=*/2, corpus().folder());
  static const TextCorpus tiny(/*num_pairs=*/5, 290, /*seed=*/3, corpus().folder());
  const std::string mix = fmt::format("{}:8,{}:1,{}:1", corpus().folder(), small.folder(), tiny.folder());
  const Trained one = train(corpus(), {.steps = some_steps(), .mix = mix});
  for (const auto& [dp, tp] : {std::pair{2, 1}, {1, 2}, {2, 2}}) {
    SCOPED_TRACE(fmt::format("dp {} x tp {}", dp, tp));
    expect_equal_to_rounding(train(corpus(), {.dp = dp, .tp = tp, .steps = some_steps(), .mix = mix}), one);
  }
}

// Data parallelism only adds f32 gradients; tensor parallelism rounds at other places, once less for each
// sum.
TEST(Training, TwentyStepsInHalfPrecisionAreTheSameOnEveryGrid) {
  for (const Precision precision : kHalves) {
    const Trained one = train(corpus(), {.steps = some_steps(), .precision = precision});
    for (const auto& [dp, tp] : {std::pair{2, 1}, {1, 2}, {2, 2}}) {
      SCOPED_TRACE(fmt::format("{} dp {} x tp {}", name_of(storage_of(precision)), dp, tp));
      const Part part{.dp = dp, .tp = tp, .steps = some_steps(), .precision = precision};
      expect_within(kBandOfGrids, train(corpus(), part).losses, one.losses);
    }
  }
}

TEST(Training, HalfPrecisionLearnsAsF32Does) {
  const int steps = all_or_few(60, 10);
  const Trained full = train(corpus(), {.steps = steps});
  EXPECT_LT(full.losses.back(), all_or_few(0.8, 0.95) * full.losses.front());
  for (const Precision precision : kHalves) {
    SCOPED_TRACE(name_of(storage_of(precision)));
    expect_within(kBandToF32, train(corpus(), {.steps = steps, .precision = precision}).losses, full.losses);
  }
}

class EveryPrecision : public ::testing::TestWithParam<Precision> {};
INSTANTIATE_TEST_SUITE_P(Training, EveryPrecision, ::testing::Values(Precision::f32, Precision::bf16, Precision::f16),
                         [](const auto& info) { return std::string(name_of(storage_of(info.param))); });

TEST_P(EveryPrecision, AResumedRunIsBitEqualToOneThatWasNotStopped) {
  for (const auto& [dp, tp] : {std::pair{1, 1}, {2, 1}, {1, 2}}) {
    SCOPED_TRACE(fmt::format("dp {} x tp {}", dp, tp));
    const TemporaryFolder folder;
    const auto part = [&, dp = dp, tp = tp](int steps, int from, const std::string& to) {
      return train(corpus(), {.dp = dp,
                              .tp = tp,
                              .steps = steps,
                              .from = from > 0 ? step_folder(folder, from) : "",
                              .to = to,
                              .precision = GetParam()});
    };
    const int steps[] = {all_or_few(7, 2), all_or_few(6, 1), all_or_few(7, 1)};
    const Trained whole = part(steps[0] + steps[1] + steps[2], 0, "");
    const Trained first = part(steps[0], 0, folder.path());
    const Trained second = part(steps[1], steps[0], folder.path());
    const Trained third = part(steps[2], steps[0] + steps[1], "");
    std::vector<double> losses = first.losses;
    losses.insert(losses.end(), second.losses.begin(), second.losses.end());
    losses.insert(losses.end(), third.losses.begin(), third.losses.end());
    EXPECT_EQ(losses, whole.losses);
    EXPECT_EQ(third.params, whole.params);
  }
}

// A norm's gradient is the same on every rank of tp, to the last bit: otherwise its parameters would drift apart.
TEST(Training, RanksThatSplitRowsKeepTheSameNorms) {
  run_thread_ranks(4, [&](Communicator& world) {
    RunConfig config = run_config(corpus());
    config.parallel = {.dp = 2, .tp = 2, .sequence = true};
    config.train.check_replicas = 1;
    config = resolved(config, world.size());
    const Mesh mesh(world, config.parallel, test_rank(world));
    SmallRun run(config, mesh);
    for (int i = 0; i < 3; ++i) EXPECT_NO_THROW(run.step());
  });
}

TEST(Training, RowsThatRanksCannotSplitAreRefusedWithTheOptions) {
  RunConfig config = run_config(corpus());
  config.batch.rows = 97;
  config.parallel = {.tp = 2, .sequence = true};
  const std::string message = refusal_of(ErrorKind::usage, [&] { resolved(config, 2); });
  for (const char* part : {"parallel.sequence", "parallel.tp = 2", "batch.rows = 97", "batch.source_rows = "})
    EXPECT_TRUE(holds(message, part)) << message;
  config.parallel.tp = 1;
  EXPECT_EQ(resolved(config, 2).parallel.dp, 2);  // nothing is split
}

TEST(Training, ARunOfTwoByOneResumesAsOneByTwo) {
  const TemporaryFolder folder;
  const int half = some_steps() / 2;
  const Trained whole = train(corpus(), {.steps = 2 * half});
  train(corpus(), {.dp = 2, .tp = 1, .steps = half, .to = folder.path()});
  for (const bool sequence : {false, true}) {
    const Part rest{.dp = 1, .tp = 2, .steps = half, .from = step_folder(folder, half), .sequence = sequence};
    expect_equal_to_rounding(train(corpus(), rest), whole, /*first=*/static_cast<size_t>(half));
  }
}

TEST(Training, ResumesInAnotherPrecisionFromTheSameParametersAndMoments) {
  const int n = some_steps() / 2;
  const Trained full = train(corpus(), {.steps = 3 * n});
  for (const Precision halves : kHalves) {
    SCOPED_TRACE(name_of(storage_of(halves)));
    const TemporaryFolder folder;
    const std::string at_n = step_folder(folder, n), at_2n = step_folder(folder, 2 * n);
    const Trained first = train(corpus(), {.steps = n, .to = folder.path()});
    EXPECT_EQ(train(corpus(), {.steps = 0, .from = at_n, .precision = halves}).params, first.params);
    const Trained second = train(corpus(), {.steps = n, .from = at_n, .to = folder.path(), .precision = halves});
    expect_within(kBandToF32, second.losses, full.losses, /*first=*/static_cast<size_t>(n));
    EXPECT_EQ(train(corpus(), {.steps = 0, .from = at_2n}).params, second.params);
    const Trained third = train(corpus(), {.steps = n, .from = at_2n});
    expect_within(kBandToF32, third.losses, full.losses, /*first=*/static_cast<size_t>(2 * n));
  }
}

// An f16 step whose gradients overflow only lowers the scale, until they fit.
TEST(Training, AnOverflowIsSkippedByAllRanksAndLowersTheScale) {
  for (const auto& [dp, tp] : {std::pair{1, 1}, {2, 1}, {1, 2}}) {
    SCOPED_TRACE(fmt::format("dp {} x tp {}", dp, tp));
    const TemporaryFolder folder;
    std::mutex reporting;
    run_thread_ranks(dp * tp, [&, dp = dp, tp = tp](Communicator& world) {
      RunConfig config = run_config(corpus());
      config.parallel = {.dp = dp, .tp = tp};
      config.train.precision = Precision::f16;
      config = resolved(config, world.size());
      const Mesh mesh(world, config.parallel, test_rank(world));
      SmallRun run(config, mesh);
      Trainer& trainer = run.trainer;
      TrainState state = run.snapshot();
      state.loss_scale.value = 0x1p30;
      run.resume(run.save(folder.path(), state));
      const auto before =
          gather(trainer.replica().context(), trainer.replica().params(), mesh.tp(), /*gradients=*/false);
      int skipped = 0;
      StepReport r = run.step();
      for (; r.skipped() && skipped < 40; r = run.step()) {
        const std::lock_guard lock(reporting);
        EXPECT_EQ(r.loss_scale, std::ldexp(1.0, 30 - skipped++));
        EXPECT_TRUE(std::isfinite(r.loss()));
      }
      state = run.snapshot();
      const auto after =
          gather(trainer.replica().context(), trainer.replica().params(), mesh.tp(), /*gradients=*/false);
      const std::lock_guard lock(reporting);
      EXPECT_GT(skipped, 0);
      EXPECT_TRUE(std::isfinite(r.grad_norm));
      EXPECT_EQ(state.step, skipped + 1);
      EXPECT_EQ(state.optimizer_steps, 1);
      EXPECT_EQ(state.loss_scale, (LossScale{.value = std::ldexp(1.0, 30 - skipped), .good_steps = 1}));
    });
  }
}

// The first rank's clock says that ten steps take the time of the run. The rate follows one step later.
TEST(Training, TheRateOfAllRanksFallsByTheClockOfOne) {
  run_thread_ranks(2, [&](Communicator& world) {
    RunConfig config = run_config(corpus());
    config.parallel.dp = 2;
    config.schedule = {.kind = ScheduleKind::linear, .lr = 0.9, .warmup = 1};
    config.train.steps = 1'000'000;
    config = resolved(config, world.size());
    const Mesh mesh(world, config.parallel, rank_on(test_device(), world));
    SmallRun run(config, mesh);
    for (int i = 0; i < 10; ++i) {
      const double lr = run.step(world.rank() == 0 ? i / 10.0 : 0).lr;
      EXPECT_NEAR(lr, i < 2 ? 0.9 : 0.1 * (9 - i), 1e-6) << "step " << i;
    }
  });
}

TEST(Training, AFailedSaveSaysThatTheLastCheckpointIsKept) {
  const TextCorpus corpus(/*num_pairs=*/40);
  const Error error = error_of([&] { train(corpus, {.steps = 1, .to = corpus.folder() + "/manifest.json"}); });
  EXPECT_EQ(error.kind(), ErrorKind::io);
  EXPECT_EQ(error.frames(), std::vector<std::string>{"while saving step 1; the last complete checkpoint is kept"});
}

TEST(Plan, RefusesBlocksThatNoMemoryHolds) {
  for (const char* option : {"rows", "source_rows", "blocks"}) {
    RunConfig config = run_config(corpus());
    const std::string name = option;
    (name == "rows"     ? config.batch.rows
     : name == "blocks" ? config.batch.blocks
                        : config.batch.source_rows) = 1'000'000'000;
    expect_error([&] { resolved(config, 1); }, ErrorKind::usage, {"batch." + name + " = 1000000000 must be at most"});
  }
}

TEST(Plan, TakesTheBlocksThatHoldAStepsTokens) {
  RunConfig config = run_config(corpus());
  config.batch.tokens = 10 * config.batch.rows + config.batch.rows / 3;
  EXPECT_EQ(resolved(config, 4).batch.blocks, 10);
  config.batch.tokens = 1;
  EXPECT_EQ(resolved(config, 1).batch.blocks, 1);
}

}  // namespace
}  // namespace weft::testing
