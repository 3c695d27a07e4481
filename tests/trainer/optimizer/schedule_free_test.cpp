// tests/trainer/optimizer/schedule_free_test.cpp: which weights of schedule-free training are evaluated and saved, and
// what it refuses.
#include <gtest/gtest.h>

#include "data/atomic_file.h"
#include "tests/support/errors.h"
#include "tests/support/small_run.h"
#include "trainer/initial_values.h"
#include "trainer/precision.h"

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

std::vector<float> read_table(Trainer& trainer) {  // what layers read of the first table
  Context& ctx = trainer.replica().context();
  const Param& table = trainer.replica().params().params().front();
  const Buffer memory(static_cast<size_t>(table.numel()) * sizeof(float), test_device());
  const Tensor wide = memory.tensor({table.numel()});
  ops::cast(ctx, {.x = table.compute.with_shape({table.numel()}), .y = wide});
  return to_host<float>(ctx, wide);
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
  const RunConfig config = resolved(free_config(), 1);
  const Mesh mesh(*alone, config.parallel, test_rank(*alone));
  SmallRun run(config, mesh);
  Trainer& trainer = run.trainer;
  for (int i = 0; i < free_steps(); ++i) run.step();
  Context& ctx = trainer.replica().context();
  const std::string saved = run.save(folder.path());
  const std::vector<float> y = to_host<float>(ctx, trainer.replica().params().values());
  const std::vector<FlatState> states = trainer.states();
  const auto z = std::ranges::find(states, "schedule_free.z.", &FlatState::prefix);
  ASSERT_NE(z, states.end());
  const std::vector<float> of_z = to_host<float>(ctx, z->flat.matrices);

  Trainer other(config, mesh);
  initial_values_from(other.replica(), other.states().front(), saved, config.model,
                      open_stages(config).front().corpora.front());
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
    const RunConfig config = resolved(free_config(precision), 1);
    const Mesh mesh(*alone, config.parallel, test_rank(*alone));
    SmallRun small(config, mesh);
    Trainer& trainer = small.trainer;
    for (int i = 0; i < free_steps(); ++i) small.step();
    Context& ctx = trainer.replica().context();
    const std::vector<float> y = read_table(trainer), values = to_host<float>(ctx, trainer.replica().params().values());
    {
      const auto scope = trainer.evaluation_weights();
      EXPECT_NE(read_table(trainer), y);
    }
    EXPECT_EQ(read_table(trainer), y);
    EXPECT_EQ(to_host<float>(ctx, trainer.replica().params().values()), values);
  }
}

// Results of one of two ranks: the files of its checkpoint, what layers read of the first table in an evaluation, and
// the losses of a step after it and of a run that starts with the checkpoint's model.
struct FreeRun {
  std::map<std::string, std::string> files;
  std::vector<float> evaluated;
  double next = 0, begun = 0;
  bool operator==(const FreeRun&) const = default;
};

std::vector<FreeRun> free_run(Precision precision, int64_t zero) {
  std::vector<FreeRun> runs(2);
  const TemporaryFolder folder;
  run_thread_ranks(2, [&](Communicator& world) {
    RunConfig config = free_config(precision);
    config.parallel = {.dp = 2, .zero = zero};
    config.optimizer.clip_norm = 0;  // whose norm is added up in another order with parallel.zero
    config = resolved(config, world.size());
    const Mesh mesh(world, config.parallel, test_rank(world));
    SmallRun small(config, mesh);
    Trainer& trainer = small.trainer;
    for (int i = 0; i < free_steps(); ++i) small.step();
    const std::string saved = small.save(folder.path());
    FreeRun& run = runs[static_cast<size_t>(world.rank())];
    for (const char* name : {"model.safetensors", "optimizer.safetensors"})
      run.files[name] = read_file(saved + "/" + name);
    {
      const auto scope = trainer.evaluation_weights();
      run.evaluated = read_table(trainer);
    }
    run.next = small.step().loss();
    SmallRun other(config, mesh);
    initial_values_from(other.trainer.replica(), other.trainer.states().front(), saved, config.model,
                        open_stages(config).front().corpora.front());
    run.begun = other.step().loss();
  });
  return runs;
}

TEST(ScheduleFreeTraining, SavesEvaluatesAndBeginsAlikeWithShards) {
  for (const Precision precision : {Precision::f32, Precision::bf16, Precision::f16}) {
    SCOPED_TRACE(name_of(storage_of(precision)));
    const std::vector<FreeRun> whole = free_run(precision, /*zero=*/0), sharded = free_run(precision, /*zero=*/1);
    EXPECT_EQ(sharded, whole);
    EXPECT_EQ(whole[1], whole[0]);
  }
}

TEST(ScheduleFreeTraining, RefusesOptionsThatDoNotFit) {
  const auto refused = [](const std::function<void(RunConfig&)>& change) {
    RunConfig config = free_config();
    change(config);
    return refusal_of(ErrorKind::usage, [&] { resolved(config, 2); });
  };
  EXPECT_TRUE(holds(refused([](RunConfig& c) { c.schedule.kind = ScheduleKind::cosine; }),
                    "set schedule.kind = constant (it is cosine)"));
  EXPECT_TRUE(holds(refused([](RunConfig& c) { c.optimizer.beta1 = 0; }), "optimizer.beta1 = 0 must be above 0"));
}

}  // namespace
}  // namespace weft::testing
