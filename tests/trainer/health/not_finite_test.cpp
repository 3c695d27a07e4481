// tests/trainer/health/not_finite_test.cpp: a step with a gradient that is not finite names block, rank and parameter.
#include "trainer/health/not_finite.h"
#include "tests/support/open_mix.h"

#include <gtest/gtest.h>

#include <limits>
#include <mutex>

#include "tests/support/small_run.h"

namespace weft::testing {
namespace {

// What all ranks are told when one block of a step has a word whose embedding is infinite.
std::string told_about_block(int64_t index, int dp, int tp) {
  const TextCorpus corpus(/*num_pairs=*/60);
  std::string told;
  std::mutex reporting;
  run_thread_ranks(dp * tp, [&](Communicator& world) {
    RunConfig config = run_config(corpus);
    config.model.tying = Tying::none;
    config.parallel = {.dp = dp, .tp = tp};
    config = resolved(config, world.size());
    const Mesh mesh(world, config.parallel, test_rank(world));
    Trainer trainer(config, mesh);
    Context& ctx = trainer.replica().context();
    const Param& table = *trainer.replica().params().find("source_embedding.weight");
    if (table.begin == 0)
      ops::fill(ctx,
                {.x = table.value.slice_rows(SpecialIds::bos, 1), .value = std::numeric_limits<float>::infinity()});
    trainer.replica().params().round_values(ctx);

    Loader loader(open_mix(config.data.train), config.batch, config.train.seed, mesh.dp().rank(), mesh.dp().size());
    Step step = loader.next();
    for (Block& block : step.blocks)
      if (block.index == index) block.source.front() = SpecialIds::bos;  // no source has it
    const StepReport report = trainer.step_on(step, config.schedule.lr);
    const std::lock_guard lock(reporting);
    EXPECT_TRUE(report.skipped());
    if (told.empty()) told = report.not_finite;
    EXPECT_EQ(report.not_finite, told);
  });
  return told;
}

TEST(NotFinite, NamesBlockRankAndFirstParameterOnEveryGrid) {
  struct Case {
    int64_t block;
    int dp, tp, rank;
  };
  for (const Case& c : {Case{0, 1, 1, 0}, {3, 1, 1, 0}, {1, 2, 1, 0}, {2, 2, 1, 1}, {2, 1, 2, 0}, {2, 2, 2, 2}}) {
    const std::string told = told_about_block(c.block, c.dp, c.tp);
    const std::string start =
        fmt::format("block {} on rank {}: the gradient of source_embedding.weight is ", c.block, c.rank);
    EXPECT_TRUE(told.starts_with(start)) << c.dp << " x " << c.tp << ": " << told;
    EXPECT_NE(told.find("(not finite: "), std::string::npos) << told;
  }
}

TEST(NotFinite, TakesTheFirstParameterInOrderOfDeclaration) {
  ParamStore params(/*tp_rank=*/0, /*tp_size=*/1, DType::f32, test_device());
  for (const char* name : {"first", "second", "third"}) params.declare({.name = name, .shape = {2, 3}});
  params.allocate();
  Context ctx(test_device());
  ops::fill(ctx, {.x = params.grads()});
  EXPECT_EQ(first_gradient_not_finite(ctx, params), "");
  for (const char* name : {"third", "second"})
    ops::fill(ctx, {.x = params.find(name)->grad.slice_rows(1, 1), .value = std::numeric_limits<float>::infinity()});
  EXPECT_EQ(first_gradient_not_finite(ctx, params), "second is inf at [1, 0] (not finite: 3 of 6 values)");
}

}  // namespace
}  // namespace weft::testing
