// tests/trainer/step/corpus_losses_test.cpp: the loss of each corpus of a mix: all together are the step's, on every
// grid, and each is that of a step whose other pairs weigh nothing.
#include "trainer/step/corpus_losses.h"

#include <gtest/gtest.h>

#include "tests/support/small_run.h"
#include "trainer/precision.h"

namespace weft::testing {
namespace {

// Three corpora of very different size, two of which have weights; some are 0.
RunConfig mixed_config() {
  static const TextCorpus large(200, 290, /*seed=*/1, /*like=*/"",
                                {.weight = [](int i) { return 0.25 * (i % 7); }, .score = {}});
  static const TextCorpus small(30, 290, /*seed=*/2, large.folder()),
      tiny(4, 290, /*seed=*/3, large.folder(), {.weight = [](int i) { return 1.5 * (i % 2); }, .score = {}});
  RunConfig c = run_config(large);
  c.data.train = fmt::format("{}:3,{}:2,{}:1", large.folder(), small.folder(), tiny.folder());
  return c;
}

struct CorpusGrid {
  int64_t dp = 1, tp = 1;
  bool sequence = false;
  Precision precision = Precision::f32;
};

std::vector<StepReport> reports_on(const CorpusGrid& grid, int steps) {
  RunConfig config = mixed_config();
  config.parallel.dp = grid.dp, config.parallel.tp = grid.tp, config.parallel.sequence = grid.sequence;
  config.train.precision = grid.precision;
  std::vector<StepReport> reports;
  run_thread_ranks(static_cast<int>(grid.dp * grid.tp), [&](Communicator& world) {
    const RunConfig mine = resolved(config, world.size());
    const Mesh mesh(world, mine.parallel, test_rank(world));
    SmallRun run(mine, mesh);
    for (int i = 0; i < steps; ++i) {
      const StepReport report = run.step();
      if (world.rank() == world.size() - 1) reports.push_back(report);  // all ranks know it
    }
  });
  return reports;
}

void expect_sum_of_corpora(const StepReport& report) {
  ASSERT_EQ(report.totals.corpora.size(), 3u);
  double nll = 0, weight = 0;
  int64_t passed = 0;
  for (const CorpusTotals& corpus : report.totals.corpora)
    nll += corpus.nll, weight += corpus.target_weight, passed += corpus.passed;
  EXPECT_EQ(passed, report.totals.pairs + report.totals.dropped + report.totals.below_score);
  EXPECT_NEAR(weight, report.totals.target_weight, 1e-12 * weight);
  EXPECT_NEAR(nll, report.nll() * report.totals.target_weight, 2e-6 * nll);  // which is a sum in f32
}

TEST(CorpusLosses, AreTogetherTheLossOfTheStepOnEveryGrid) {
  const int steps = all_or_few(4, 2);
  const std::vector<StepReport> alone = reports_on({}, steps);
  ASSERT_EQ(std::ssize(alone), steps);
  for (const StepReport& report : alone) {
    expect_sum_of_corpora(report);
    EXPECT_NE(report.totals.target_weight, static_cast<double>(report.totals.target_tokens)) << "pairs have weights";
  }
  std::vector<CorpusGrid> grids = {{2, 1}, {1, 2}, {2, 2, true}, {3, 1}, {5, 1}, {2, 2, false, Precision::bf16}};
  if (on_emulated_device()) grids = {{2, 1}, {1, 2}};
  for (const CorpusGrid& grid : grids) {
    SCOPED_TRACE(fmt::format("dp {} x tp {}, {}", grid.dp, grid.tp, name_of(storage_of(grid.precision))));
    const std::vector<StepReport> reports = reports_on(grid, steps);
    const double band = grid.precision == Precision::f32 ? 1e-5 : 1e-2;
    ASSERT_EQ(reports.size(), alone.size());
    for (size_t i = 0; i < reports.size(); ++i) {
      expect_sum_of_corpora(reports[i]);
      for (size_t k = 0; k < 3; ++k) {
        const CorpusTotals &got = reports[i].totals.corpora[k], &want = alone[i].totals.corpora[k];
        EXPECT_EQ(got.passed, want.passed);
        EXPECT_EQ(got.target_weight, want.target_weight);
        EXPECT_NEAR(got.nll, want.nll, band * want.nll) << "corpus " << k << ", step " << i;
      }
    }
  }
}

TEST(CorpusLosses, AreThoseOfAStepWhoseOtherPairsWeighNothing) {
  RunConfig config = mixed_config();
  config.model.dropout = 0;  // so that each step computes alike
  config = resolved(config, 1);
  const auto world = make_single_communicator();
  const Mesh mesh(*world, config.parallel, test_rank(*world));
  SmallRun run(config, mesh);
  Trainer& trainer = run.trainer;
  const Step step = run.data.next();
  const StepReport all = trainer.step_on(step, /*lr=*/0);
  expect_sum_of_corpora(all);
  for (int64_t corpus = 0; corpus < 3; ++corpus) {
    Step only = step;
    for (Block& block : only.blocks)
      for (size_t k = 0; k < block.pairs.size(); ++k)
        if (block.pairs[k].corpus != corpus)
          std::fill(block.weights.begin() + block.target_offsets[k],
                    block.weights.begin() + block.target_offsets[k + 1], 0.0f);
    const StepReport report = trainer.step_on(only, /*lr=*/0);
    const CorpusTotals& want = all.totals.corpora[static_cast<size_t>(corpus)];
    EXPECT_GT(want.target_weight, 0);
    EXPECT_NEAR(report.totals.target_weight, want.target_weight, 1e-12 * want.target_weight);
    EXPECT_NEAR(report.nll() * report.totals.target_weight, want.nll, 2e-6 * want.nll) << "corpus " << corpus;
    for (int64_t other = 0; other < 3; ++other) {
      if (other != corpus) {
        EXPECT_EQ(report.totals.corpora[static_cast<size_t>(other)].nll, 0);
      }
    }
  }
}

}  // namespace
}  // namespace weft::testing
