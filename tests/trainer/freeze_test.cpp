// tests/trainer/freeze_test.cpp: train.freeze keeps the values that it names, and changes nothing else in a step.
#include <fnmatch.h>
#include <gtest/gtest.h>

#include "parallel/planned_group.h"
#include "tests/support/errors.h"
#include "tests/support/small_run.h"
#include "trainer/checkpoint/safetensors.h"
#include "trainer/plan/memory_plan.h"
#include "trainer/step/dry_step.h"

namespace weft::testing {
namespace {

const TextCorpus& frozen_corpus() {
  static const TextCorpus text(/*num_pairs=*/300);
  return text;
}

bool is_frozen(const std::string& name, const std::string& patterns) {
  const auto all = split_at_commas(patterns);
  return std::ranges::any_of(all, [&](const std::string& one) { return fnmatch(one.c_str(), name.c_str(), 0) == 0; });
}

struct Freezing {
  const char *name, *patterns;
  OptimizerKind optimizer;
  Precision precision;
  int dp, tp;
  int64_t zero;
  bool sequence;
};

void PrintTo(const Freezing& f, std::ostream* out) { *out << f.name; }

class Freeze : public ::testing::TestWithParam<Freezing> {
 protected:
  static Part part(int steps) {
    const Freezing& f = GetParam();
    return {.dp = f.dp,
            .tp = f.tp,
            .steps = steps,
            .precision = f.precision,
            .zero = f.zero,
            .clip_norm = 0,
            .sequence = f.sequence,
            .optimizer = f.optimizer};
  }
};
INSTANTIATE_TEST_SUITE_P(
    Training, Freeze,
    ::testing::Values(
        // Lion's step is a sign, which the rounding of another grid may change: it resumes on the same grid.
        Freezing{"tables", "embedding.*", OptimizerKind::lion, Precision::f32, 1, 1, 0, false},
        Freezing{"encoder", "encoder.*", OptimizerKind::muon, Precision::bf16, 2, 2, 0, false},
        Freezing{"norms", "*.norm.*", OptimizerKind::adam, Precision::f32, 1, 2, 0, true},
        Freezing{"shards", "embedding.*,decoder.0.*", OptimizerKind::adam, Precision::bf16, 2, 2, 1, false},
        Freezing{"means", "encoder.*,*.bias", OptimizerKind::schedule_free, Precision::f32, 2, 1, 1, false}),
    [](const auto& info) { return info.param.name; });

TEST_P(Freeze, KeepsItsValuesAndTrainsAllOthersAsBefore) {
  Part frozen = part(1);
  frozen.freeze = GetParam().patterns;
  const Trained before = train(frozen_corpus(), part(0)), after = train(frozen_corpus(), part(1)),
                kept = train(frozen_corpus(), frozen);
  EXPECT_EQ(kept.losses, after.losses);
  for (const auto& [name, values] : kept.params)
    EXPECT_EQ(values, (is_frozen(name, frozen.freeze) ? before : after).params.at(name)) << name;
}

TEST_P(Freeze, ResumesOnOneRank) {
  const int n = all_or_few(4, 2);
  const TemporaryFolder folder;
  Part half = part(n), whole = part(2 * n);
  for (Part* p : {&half, &whole}) {
    p->precision = Precision::f32;  // grids differ only in the order of f32 sums
    p->freeze = GetParam().patterns, p->ema = p->optimizer == OptimizerKind::adam ? 0.9 : 0;
  }
  const Trained all = train(frozen_corpus(), whole);
  half.to = folder.path();
  train(frozen_corpus(), half);
  half.from = folder / fmt::format("step-{:08}", n), half.to = "";
  half.dp = half.tp = 1, half.zero = 0, half.sequence = false;
  expect_equal_to_rounding(train(frozen_corpus(), half), all, static_cast<size_t>(n));
}

TEST(Freeze, StoresNoMomentsOfFrozenParameters) {
  const TemporaryFolder folder;
  train(frozen_corpus(), {.steps = 1, .to = folder.path(), .freeze = "embedding.*", .ema = 0.9});
  const auto has = [&](const char* file, const char* tensor) {
    return SafetensorsFile(folder / ("step-00000001/" + std::string(file))).entries().contains(tensor);
  };
  EXPECT_TRUE(has("model.safetensors", "embedding.weight"));
  EXPECT_TRUE(has("average.safetensors", "average.embedding.weight"));
  EXPECT_TRUE(has("optimizer.safetensors", "adam.m.encoder.0.self_attention.qkv.weight"));
  EXPECT_FALSE(has("optimizer.safetensors", "adam.m.embedding.weight"));
}

TEST(Freeze, TakesGradientsAndMomentsFromThePlan) {
  const auto planned = [](const char* patterns) {
    RunConfig c = run_config(frozen_corpus());
    c.train.freeze = patterns;
    c = resolved(c, 1);
    const auto group = make_planned_group(1);
    return plan_tensors(c, TensorParallel(*group), Device::cpu);
  };
  const MemoryPlan all = planned(""), part = planned("encoder.*,decoder.*");
  const auto few = [](size_t bytes) { return bytes / 3; };  // the tables
  EXPECT_EQ(part.parameters, all.parameters);
  EXPECT_LT(part.gradients, few(all.gradients));
  EXPECT_LT(part.moments, few(all.moments));
  EXPECT_LT(part.saving, all.saving);
}

// A rank sends the f32 gradients of what trains: with adapters, rank (in + out) numbers of each adapted matrix.
TEST(Freeze, SendsOnlyTheGradientsOfWhatTrains) {
  const auto sent = [](const RunConfig& c) {
    Block block = BlockBuilder(c.batch.source_rows, c.batch.rows).finish(0);
    double bytes = 0;
    for (const OpTrace::Op& op : step_ops(c, block, Device::cpu).last_block)
      if (is_dp_collective(op.name)) bytes += static_cast<double>(op.operands.front().tensor.bytes());
    return static_cast<int64_t>(bytes);
  };
  RunConfig c = run_config(frozen_corpus());
  c.parallel.dp = 2;
  c = resolved(c, 2);
  const int64_t all = sent(c), table = c.model.target_vocabulary * c.model.width;
  c.train.freeze = "embedding.*";
  EXPECT_EQ(sent(c), all - 4 * table);
  c.train.freeze = "";
  c.model.lora = {.rank = 2, .targets = "q,v"};
  const int64_t attentions = c.model.encoder_layers + 2 * c.model.decoder_layers;
  EXPECT_EQ(sent(c), 4 * attentions * 2 * c.model.lora.rank * (c.model.width + c.model.width));
}

TEST(Freeze, RefusesNamesThatMatchNothingOrEverything) {
  RunConfig c = run_config(frozen_corpus());
  c.train.freeze = "embedding.*, encodr.*";
  expect_error([&] { resolved(c, 1); }, ErrorKind::usage, {"train.freeze: no parameter is named encodr.*"});
  c.train.freeze = "*";
  expect_error([&] { resolved(c, 1); }, ErrorKind::usage, {"train.freeze leaves no parameter that trains"});
}

}  // namespace
}  // namespace weft::testing
