// tests/trainer/weight_average_test.cpp: the average of the weights: its formula, its place in every kind of run, and
// its exchange with the training weights for an evaluation.
#include <gtest/gtest.h>

#include <cstring>
#include <span>

#include "tests/support/small_run.h"
#include "trainer/checkpoint/checkpoint.h"
#include "trainer/initial_values.h"
#include "trainer/optimizer/weight_average.h"
#include "trainer/precision.h"
#include "trainer/validation/validation.h"

namespace weft::testing {
namespace {

using Values = std::map<std::string, std::vector<float>>;

const TextCorpus& averaged_corpus() {
  static const TextCorpus text(/*num_pairs=*/200);
  return text;
}

constexpr double kDecay = 0.8;  // reached after 35 updates: both cases of the formula
int averaged_steps() { return all_or_few(8, 2); }

struct AveragedGrid {
  int dp = 1, tp = 1;
  int64_t zero = 0;
  OptimizerKind optimizer = OptimizerKind::adam;
};
constexpr AveragedGrid kOneRank{1, 1}, kShards{2, 2, 1}, kMuon{2, 2, 0, OptimizerKind::muon};
constexpr AveragedGrid kAveragedGrids[] = {kOneRank, {2, 1}, {1, 2}, {2, 2}, {2, 1, 1}, {1, 1, 0, OptimizerKind::muon},
                                           kShards,  kMuon};

std::span<const AveragedGrid> averaged_grids() {  // the emulated device is slow: the last two have both groups
  return std::span(kAveragedGrids).last(all_or_few(std::size(kAveragedGrids), size_t{2}));
}

std::string describe_grid(const AveragedGrid& l) {
  return fmt::format("dp {} x tp {}, parallel.zero {}, {}", l.dp, l.tp, l.zero, name_of_enum(l.optimizer));
}

// This rank's part of the tensors of a kind, gathered over dp.
Values part_of(Trainer& trainer, const std::string& kind) {
  trainer.gather_weights();
  Values values;
  for (const FlatState& state : trainer.states()) {
    if (state.kind != kind) continue;
    if (state.gather) state.gather();
    for (const Param& p : trainer.replica().params().params())
      values[state.prefix + p.spec.name] = to_host<float>(trainer.replica().context(), state.flat.of(p));
  }
  return values;
}

void with_runs(const AveragedGrid& grid, Precision precision, double ema,
               const std::function<void(SmallRun&, Communicator& world)>& body) {
  run_thread_ranks(grid.dp * grid.tp, [&](Communicator& world) {
    RunConfig config = run_config(averaged_corpus());
    config.parallel = {.dp = grid.dp, .tp = grid.tp, .zero = grid.zero};
    config.optimizer.kind = grid.optimizer;
    config.optimizer.clip_norm = 0;  // whose norm is added up in another order with parallel.zero
    config.train.precision = precision, config.train.ema = ema;
    config = resolved(config, world.size());
    const Mesh mesh(world, config.parallel, test_rank(world));
    SmallRun run(config, mesh);
    body(run, world);
  });
}

struct AveragedRun {
  std::vector<double> losses;
  std::vector<Values> weights, averages;  // of each rank
};

// Trains from a checkpoint or the start, for some steps, and perhaps saves a checkpoint.
AveragedRun averaged_run(const AveragedGrid& grid, Precision precision, int steps, double ema = kDecay,
                         bool evaluates = false, const std::string& from = "", const std::string& to = "") {
  AveragedRun result;
  result.weights.resize(static_cast<size_t>(grid.dp * grid.tp));
  result.averages.resize(result.weights.size());
  with_runs(grid, precision, ema, [&](SmallRun& run, Communicator& world) {
    Trainer& trainer = run.trainer;
    if (!from.empty()) run.resume(from);
    for (int i = 0; i < steps; ++i) {
      const double loss = run.step().loss();
      if (world.is_main_rank()) result.losses.push_back(loss);
      const auto weights = evaluates ? trainer.evaluation_weights() : nullptr;
    }
    if (!to.empty()) run.save(to);
    const auto rank = static_cast<size_t>(world.rank());
    result.weights[rank] = part_of(trainer, "model"), result.averages[rank] = part_of(trainer, kAverageKind);
  });
  return result;
}

class WeightAverage : public ::testing::TestWithParam<Precision> {};
INSTANTIATE_TEST_SUITE_P(Training, WeightAverage, ::testing::Values(Precision::f32, Precision::bf16, Precision::f16),
                         [](const auto& info) { return std::string(name_of(storage_of(info.param))); });

TEST(WeightAverageRate, FallsToThatOfTheDecay) {
  EXPECT_DOUBLE_EQ(average_rate(0.999, 1), 1 - 2.0 / 11);
  EXPECT_DOUBLE_EQ(average_rate(0.999, 90), 1 - 91.0 / 100);
  EXPECT_DOUBLE_EQ(average_rate(0.999, 100000), 1 - 0.999);
  EXPECT_DOUBLE_EQ(average_rate(0.5, 10), 0.5);
}

TEST_P(WeightAverage, IsThatOfItsDefinition) {
  const auto compare = [](SmallRun& run, Communicator&) {
    Trainer& trainer = run.trainer;
    std::map<std::string, std::vector<double>> expected;
    for (const auto& [name, x] : part_of(trainer, "model")) expected[name].assign(x.begin(), x.end());
    int64_t updates = 0;
    for (int i = 0; i < 2 * averaged_steps(); ++i) {
      if (run.step().skipped()) continue;
      const auto t = static_cast<double>(++updates);
      const double decay = std::min(0.5, (1 + t) / (10 + t));
      for (const auto& [name, x] : part_of(trainer, "model")) {
        std::vector<double>& y = expected[name];
        for (size_t j = 0; j < x.size(); ++j) y[j] = decay * y[j] + (1 - decay) * static_cast<double>(x[j]);
      }
    }
    ASSERT_GT(updates, 0);
    for (const auto& [name, x] : part_of(trainer, kAverageKind)) {
      const std::vector<double>& y = expected.at(name.substr(std::strlen(kAveragePrefix)));
      for (size_t j = 0; j < x.size(); ++j) ASSERT_NEAR(x[j], y[j], 1e-6 * (1 + std::abs(y[j]))) << name;
    }
  };
  for (const AveragedGrid& grid : averaged_grids()) {
    SCOPED_TRACE(describe_grid(grid));
    with_runs(grid, GetParam(), /*ema=*/0.5, compare);
  }
}

TEST_P(WeightAverage, ChangesNoStep) {
  for (const AveragedGrid& grid : {kOneRank, kShards, kMuon}) {
    SCOPED_TRACE(describe_grid(grid));
    const AveragedRun with = averaged_run(grid, GetParam(), averaged_steps());
    const AveragedRun without = averaged_run(grid, GetParam(), averaged_steps(), /*ema=*/0);
    EXPECT_EQ(with.losses, without.losses);
    EXPECT_EQ(with.weights, without.weights);
    EXPECT_NE(with.averages[0], without.averages[0]);
  }
}

TEST_P(WeightAverage, IsTheSameWithAShardedOptimizer) {
  for (const int tp : {1, 2}) {
    const AveragedRun whole = averaged_run({2, tp, 0}, GetParam(), averaged_steps());
    const AveragedRun sharded = averaged_run({2, tp, 1}, GetParam(), averaged_steps());
    EXPECT_EQ(sharded.averages, whole.averages) << "tp " << tp;
    EXPECT_EQ(whole.averages[0], whole.averages[static_cast<size_t>(tp)]);  // the other replica's
  }
}

// On every grid the training weights are back, bit by bit, after an evaluation.
TEST_P(WeightAverage, OfAnEvaluationLeavesTheTrainingAsItWas) {
  for (const AveragedGrid& grid : averaged_grids()) {
    SCOPED_TRACE(describe_grid(grid));
    const AveragedRun plain = averaged_run(grid, GetParam(), averaged_steps());
    const AveragedRun evaluated = averaged_run(grid, GetParam(), averaged_steps(), kDecay, /*evaluates=*/true);
    EXPECT_EQ(evaluated.losses, plain.losses);
    EXPECT_EQ(evaluated.weights, plain.weights);
    EXPECT_EQ(evaluated.averages, plain.averages);
  }
}

TEST_P(WeightAverage, IsWhatLayersReadInAnEvaluation) {
  for (const AveragedGrid& grid : averaged_grids()) {
    SCOPED_TRACE(describe_grid(grid));
    with_runs(grid, GetParam(), kDecay, [](SmallRun& run, Communicator&) {
      Trainer& trainer = run.trainer;
      for (int i = 0; i < averaged_steps(); ++i) run.step();
      const Values averages = part_of(trainer, kAverageKind), before = part_of(trainer, "model");
      Context& ctx = trainer.replica().context();
      const ParamStore& params = trainer.replica().params();
      {
        const auto weights = trainer.evaluation_weights();
        for (const Param& p : params.params()) {
          const Tensor read = p.spec.matrix ? p.compute : p.value;
          const Buffer memory(static_cast<size_t>(p.numel()) * sizeof(float), params.device());
          const Tensor got = memory.tensor({p.numel()});
          const std::vector<float>& average = averages.at(kAveragePrefix + p.spec.name);
          if (read.dtype == DType::f32) {
            ASSERT_EQ(to_host<float>(ctx, read), average) << p.spec.name;
            continue;
          }
          ops::cast(ctx, {.x = read.with_shape({p.numel()}), .y = got});
          const std::vector<float> rounded = to_host<float>(ctx, got);
          for (size_t i = 0; i < average.size(); ++i)
            ASSERT_NEAR(rounded[i], average[i], std::abs(average[i]) / 256 + 1e-7f) << p.spec.name;
        }
      }
      EXPECT_EQ(part_of(trainer, "model"), before);
      EXPECT_EQ(part_of(trainer, kAverageKind), averages);
    });
  }
}

void expect_resumed_run_to_be_whole(const AveragedGrid& before, const AveragedGrid& after, Precision precision) {
  const int n = averaged_steps();
  const TemporaryFolder folder;
  const AveragedRun whole = averaged_run(before, precision, 2 * n);
  averaged_run(before, precision, n, kDecay, false, "", folder.path());
  const AveragedRun rest = averaged_run(after, precision, n, kDecay, false, folder / fmt::format("step-{:08}", n));
  EXPECT_EQ(rest.averages, whole.averages);
  EXPECT_EQ(rest.weights, whole.weights);
}

TEST_P(WeightAverage, ResumesBitByBitOnEveryGrid) {
  for (const AveragedGrid& grid : averaged_grids()) {
    SCOPED_TRACE(describe_grid(grid));
    expect_resumed_run_to_be_whole(grid, grid, GetParam());
  }
}

TEST_P(WeightAverage, ResumesBitByBitWithShardsFromNoneAndWithoutThemFromShards) {
  for (const int tp : {1, 2})
    for (const int64_t zero : {0, 1}) {
      SCOPED_TRACE(fmt::format("tp {}, parallel.zero {} then {}", tp, zero, 1 - zero));
      expect_resumed_run_to_be_whole({2, tp, zero}, {2, tp, 1 - zero}, GetParam());
    }
}

TEST_P(WeightAverage, BeginsAtTheWeightsOfACheckpointWithoutOne) {
  const TemporaryFolder folder;
  const int n = averaged_steps();
  const std::string at_n = folder / fmt::format("step-{:08}", n);
  averaged_run({}, GetParam(), n, /*ema=*/0, false, "", folder.path());
  EXPECT_FALSE(has_average(at_n));
  for (const AveragedGrid& grid : {kOneRank, AveragedGrid{2, 1, 1}}) {
    const AveragedRun resumed = averaged_run(grid, GetParam(), /*steps=*/0, kDecay, false, at_n);
    for (const auto& [name, x] : resumed.weights[0])
      EXPECT_EQ(resumed.averages[0].at(kAveragePrefix + name), x) << name;
  }
}

// f16 with a loss scale that is too high begins with steps that no rank takes.
TEST(WeightAverageOfSkippedSteps, StaysAsItWas) {
  for (const AveragedGrid& grid : averaged_grids()) {
    SCOPED_TRACE(describe_grid(grid));
    const TemporaryFolder folder;
    with_runs(grid, Precision::f16, kDecay, [&](SmallRun& run, Communicator&) {
      run.step();
      TrainState state = run.snapshot();
      state.loss_scale.value = 0x1p30;
      run.resume(run.save(folder.path(), state));
      const Values before = part_of(run.trainer, kAverageKind);
      ASSERT_TRUE(run.step().skipped());
      EXPECT_EQ(part_of(run.trainer, kAverageKind), before);
    });
  }
}

// Also by a run that begins with a checkpoint's weights, as translation does.
TEST_P(WeightAverage, IsWhatIsValidated) {
  const TemporaryFolder folder;
  run_thread_ranks(1, [&](Communicator& world) {
    RunConfig config = run_config(averaged_corpus());
    config.data.valid = config.data.train, config.train.validate_bleu = 0, config.train.keep_best = "loss";
    config.train.precision = GetParam(), config.train.ema = kDecay;
    config = resolved(config, world.size());
    const Mesh mesh(world, config.parallel, test_rank(world));
    const auto validated = [&](Trainer& trainer) {
      return Validation(config, open_sets(config), mesh, trainer)
          .run(1, [] { return false; })
          ->sets.at(0)
          .values.at("valid_loss");
    };
    SmallRun run(config, mesh);
    for (int i = 0; i < averaged_steps(); ++i) run.step();
    const std::string checkpoint = run.save(folder.path());
    const double of_average = validated(run.trainer);

    RunConfig without = config;
    without.train.ema = 0;
    Trainer begun(without, mesh);
    SmallRun resumed(without, mesh);
    initial_values_from(begun.replica(), begun.states().front(), checkpoint, without.model,
                        open_stages(without).front().corpora.front());
    resumed.resume(checkpoint);
    EXPECT_EQ(validated(begun), of_average);
    EXPECT_NE(validated(resumed.trainer), of_average);
  });
}

TEST(WeightAverageOfACheckpoint, IsDroppedByARunWithoutIt) {
  const TemporaryFolder folder;
  const std::string at_2 = folder / "step-00000002";
  averaged_run({}, Precision::f32, 2, kDecay, false, "", folder.path());
  EXPECT_TRUE(has_average(at_2));
  EXPECT_TRUE(averaged_run({}, Precision::f32, /*steps=*/0, /*ema=*/0, false, at_2).averages[0].empty());
}

}  // namespace
}  // namespace weft::testing
