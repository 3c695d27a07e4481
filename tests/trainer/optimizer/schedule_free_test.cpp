// tests/trainer/optimizer/schedule_free_test.cpp: which weights of schedule-free training are evaluated and saved, and
// what it refuses.
#include <gtest/gtest.h>

#include "tests/support/errors.h"
#include "tests/support/small_run.h"
#include "trainer/initial_values.h"
#include "trainer/plan/precision.h"

namespace weft::testing {
namespace {

const TextCorpus& free_corpus() {
  static const TextCorpus text(/*num_pairs=*/300);
  return text;
}

int free_steps() { return all_or_few(12, 2); }

RunConfig free_config(Precision precision = Precision::f32) {
  RunConfig config = run_config(free_corpus());
  config.optimizer.kind = OptimizerKind::schedule_free;
  config.schedule.kind = ScheduleKind::constant;
  config.train.precision = precision;
  return config;
}

TEST(RateSums, WeighStepsByTheSquareOfTheHighestRate) {
  RateSums sums;
  EXPECT_DOUBLE_EQ(sums.add(1), 1);
  EXPECT_DOUBLE_EQ(sums.add(2), 4.0 / 5);
  EXPECT_DOUBLE_EQ(sums.add(1), 4.0 / 9);
  EXPECT_EQ(RateSums().add(0), 0);
}

// x is what the formula says, is saved as the model, and starts another run.
TEST(ScheduleFreeTraining, SavesTheMeanAsTheModel) {
  const TemporaryFolder folder;
  const auto alone = make_single_communicator();
  const RunConfig config = resolve(free_config(), 1);
  const Mesh mesh(*alone, config.parallel, test_rank(*alone));
  Trainer trainer(config, mesh);
  for (int i = 0; i < free_steps(); ++i) trainer.step();
  Context& ctx = trainer.replica().context();
  TrainState state;
  trainer.snapshot(state);
  const std::string saved = save(trainer, folder.path(), state);
  const std::vector<float> y = to_host<float>(ctx, trainer.replica().params().values());
  const FlatState z = trainer.states().back();
  ASSERT_EQ(z.prefix, "schedule_free.z.");
  const std::vector<float> of_z = to_host<float>(ctx, z.flat.matrices);

  Trainer other(config, mesh);
  initial_values_from(other.replica(), other.states().front(), saved, config);
  const std::vector<float> x = to_host<float>(other.replica().context(), other.replica().params().values());
  double difference = 0;
  for (size_t i = 0; i < of_z.size(); ++i) {
    EXPECT_NEAR(x[i], (y[i] - 0.1 * of_z[i]) / 0.9, 1e-6);
    difference = std::max<double>(difference, std::abs(x[i] - y[i]));
  }
  EXPECT_GT(difference, 1e-5);
}

TEST(ScheduleFreeTraining, EvaluatesTheMeanAndPutsTheWeightsBack) {
  for (const Precision precision : {Precision::f32, Precision::bf16}) {
    SCOPED_TRACE(name_of(storage_of(precision)));
    const auto alone = make_single_communicator();
    const RunConfig config = resolve(free_config(precision), 1);
    const Mesh mesh(*alone, config.parallel, test_rank(*alone));
    Trainer trainer(config, mesh);
    for (int i = 0; i < free_steps(); ++i) trainer.step();
    Context& ctx = trainer.replica().context();
    const Param* const table = &trainer.replica().params().params().front();
    const auto read = [&] {  // what layers read of the first table
      const Buffer memory(static_cast<size_t>(table->numel()) * sizeof(float), test_device());
      const Tensor wide = memory.tensor({table->numel()});
      ops::cast(ctx, {.x = table->compute.with_shape({table->numel()}), .y = wide});
      return to_host<float>(ctx, wide);
    };
    const std::vector<float> y = read(), values = to_host<float>(ctx, trainer.replica().params().values());
    {
      const auto scope = trainer.evaluation_weights();
      EXPECT_NE(read(), y);
    }
    EXPECT_EQ(read(), y);
    EXPECT_EQ(to_host<float>(ctx, trainer.replica().params().values()), values);
  }
}

TEST(ScheduleFreeTraining, RefusesOptionsThatDoNotFit) {
  const auto refused = [](const std::function<void(RunConfig&)>& change) {
    RunConfig config = free_config();
    change(config);
    return refusal_of(ErrorKind::usage, [&] { resolve(config, 2); });
  };
  EXPECT_TRUE(holds(refused([](RunConfig& c) { c.schedule.kind = ScheduleKind::cosine; }),
                    "set schedule.kind = constant (it is cosine)"));
  EXPECT_TRUE(holds(refused([](RunConfig& c) { c.parallel = {.dp = 2, .zero = 1}; }), "parallel.zero = 1"));
  EXPECT_TRUE(holds(refused([](RunConfig& c) { c.optimizer.beta1 = 0; }), "optimizer.beta1 = 0 must be above 0"));
}

}  // namespace
}  // namespace weft::testing
