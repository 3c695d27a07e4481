// tests/trainer/allocation_test.cpp: all tensor memory is allocated before or in the first step, and equals
// the plan.
#include <gtest/gtest.h>

#include "tests/support/run_device.h"
#include "tests/support/small_run.h"
#include "trainer/plan/memory_plan.h"
#include "trainer/precision.h"
#include "trainer/validation/validation.h"

namespace weft::testing {
namespace {

RunConfig config_of(const TextCorpus& corpus, Precision precision, bool recompute, double ema = 0) {
  RunConfig c;
  c.model.width = 32, c.model.heads = 4, c.model.feed_forward = 48;
  c.model.encoder_layers = c.model.decoder_layers = 2;
  c.data.train = c.data.valid = corpus.folder();
  c.batch.rows = 96, c.batch.blocks = 2, c.batch.page = 8, c.batch.window = 4;
  c.train.output = corpus.path() + "/run";
  c.train.validate_bleu = all_or_few(12, 2);
  c.train.precision = precision, c.train.recompute = recompute, c.train.ema = ema;
  c.decode.beam = 3;
  use_test_device(c);
  return resolved(c, 1);
}

class Allocations : public ::testing::TestWithParam<Precision> {};

TEST_P(Allocations, NoneAfterTheFirstStepWhateverTheSentences) {
  // Sentences of 1 to 9 words, so that the longest one differs from step to step.
  const TextCorpus corpus(/*num_pairs=*/all_or_few(200, 40));
  const auto world = make_single_communicator();
  const int steps = all_or_few(20, 4);
  for (const bool recompute : {false, true}) {
    const RunConfig c = config_of(corpus, GetParam(), recompute, /*ema=*/0.9);
    const Mesh mesh(*world, c.parallel, test_rank(*world));
    SmallRun run(c, mesh);
    Trainer& trainer = run.trainer;
    Validation validation(c, open_sets(c), mesh, trainer);
    run.step();
    const int64_t before = Buffer::allocations();
    const size_t scratch = trainer.replica().context().scratch_bytes();
    for (int step = 2; step <= steps; ++step) {
      run.step();
      if (step % (steps / 2) == 0) validation.run(step, [] { return false; });
    }
    EXPECT_EQ(Buffer::allocations(), before);
    EXPECT_EQ(trainer.replica().context().scratch_bytes(), scratch);
  }
}

TEST_P(Allocations, ScratchMemoryIsWhatTheDryRunFound) {
  const TextCorpus corpus(/*num_pairs=*/all_or_few(200, 40));
  const auto world = make_single_communicator();
  const RunConfig c = config_of(corpus, GetParam(), /*recompute=*/false);
  const Mesh mesh(*world, c.parallel, test_rank(*world));
  const MemoryPlan plan = plan_memory({.config = c, .stages = open_stages(c), .valid = open_sets(c), .best = {}},
                                      TensorParallel(mesh.tp()), mesh.own());
  SmallRun run(c, mesh);
  Trainer& trainer = run.trainer;
  Validation validation(c, open_sets(c), mesh, trainer);
  EXPECT_EQ(trainer.replica().context().scratch_bytes(), plan.scratch);
  run.step();
  validation.run(1, [] { return false; });
  EXPECT_EQ(trainer.replica().context().scratch_bytes(), plan.scratch);
}

TEST_P(Allocations, ShardsTakeAsMuchMemoryAsPlanned) {
  const TextCorpus corpus(/*num_pairs=*/40);
  constexpr int kRanks = 3;
  RunConfig c = config_of(corpus, GetParam(), /*recompute=*/false, /*ema=*/0.9);
  c.parallel = {.dp = kRanks, .zero = 1};
  run_thread_ranks(kRanks, [&](Communicator& world) {
    const Mesh mesh(world, c.parallel, test_rank(world));
    const MemoryPlan plan = plan_tensors(c, TensorParallel(mesh.tp()), mesh.device());
    const Replica replica(c, mesh, storage_of(GetParam()), c.batch.longest_row());
    const ParamStore& params = replica.params();
    const Optimizer optimizer(params, c.optimizer, Shard::of_rank(params.matrix_numel(), world, /*zero=*/true),
                              c.train.ema);
    const auto bytes = [&](int64_t n) {
      return Buffer::footprint(static_cast<size_t>(n) * sizeof(float), mesh.device());
    };
    const size_t whole = bytes(params.numel());
    const size_t values = params.divided() ? bytes(optimizer.master().numel()) + bytes(params.vector_numel()) : whole;
    EXPECT_EQ(plan.moments, 2 * bytes(optimizer.first_moment().numel()));
    EXPECT_EQ(plan.parameters, values + replica.model().positions_bytes());
    EXPECT_EQ(plan.average, bytes(optimizer.average().numel()));
    EXPECT_EQ(plan.less_by_shards, 4 * whole - values - plan.moments - plan.average);
    EXPECT_GT(plan.less_by_shards, whole);
  });
}

INSTANTIATE_TEST_SUITE_P(EachPrecision, Allocations,
                         ::testing::Values(Precision::f32, Precision::bf16, Precision::f16));

}  // namespace
}  // namespace weft::testing
