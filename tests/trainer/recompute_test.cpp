// tests/trainer/recompute_test.cpp: recomputation gives the same results with less memory.
#include <gtest/gtest.h>

#include "tests/support/run_device.h"
#include "tests/support/small_model.h"
#include "tests/support/small_run.h"
#include "trainer/step/dry_step.h"

namespace weft::testing {
namespace {

struct Numbers {
  std::vector<double> losses, norms;
  std::map<std::string, std::vector<float>> gradients, parameters;  // after the last step
  bool operator==(const Numbers&) const = default;
};

Numbers train(const TextCorpus& corpus, const ParallelConfig& grid, NormPosition norm, Precision precision,
              bool recompute) {
  Numbers result;
  run_thread_ranks(static_cast<int>(grid.tp), [&](Communicator& world) {
    set_num_threads(1);
    RunConfig c;
    c.model.width = 32, c.model.heads = 4, c.model.feed_forward = 48;
    c.model.encoder_layers = c.model.decoder_layers = 2;
    c.model.dropout = 0.1, c.model.norm = norm, c.model.final_norm = norm == NormPosition::pre;
    c.data.train = corpus.folder();
    c.batch.rows = 96, c.batch.blocks = 2, c.batch.page = 8, c.batch.window = 4;
    c.parallel = grid;
    c.schedule.lr = 3e-3, c.schedule.warmup = 2;
    c.train.output = corpus.path() + "/run";
    c.train.precision = precision, c.train.recompute = recompute;
    use_test_device(c);
    c = resolved(c, world.size());
    const Mesh mesh(world, c.parallel, test_rank(world));
    SmallRun run(c, mesh);
    Trainer& trainer = run.trainer;
    Numbers mine;
    for (int i = 0; i < all_or_few(4, 2); ++i) {
      const StepReport report = run.step();
      mine.losses.push_back(report.loss()), mine.norms.push_back(report.grad_norm);
    }
    mine.gradients = gather(trainer.replica().context(), trainer.replica().params(), mesh.tp(), /*gradients=*/true);
    mine.parameters = gather(trainer.replica().context(), trainer.replica().params(), mesh.tp(), /*gradients=*/false);
    if (world.rank() == 0) result = std::move(mine);
  });
  return result;
}

TEST(Recompute, ChangesNoBitOfLossesGradientsAndParameters) {
  const TextCorpus corpus(/*num_pairs=*/200);
  for (const ParallelConfig& grid : {ParallelConfig{}, {.tp = 2}, {.tp = 2, .sequence = true}})
    for (const NormPosition norm : {NormPosition::post, NormPosition::pre})
      for (const Precision precision : {Precision::f32, Precision::bf16}) {
        const Numbers kept = train(corpus, grid, norm, precision, /*recompute=*/false);
        EXPECT_NE(kept.losses.front(), kept.losses.back());
        EXPECT_EQ(train(corpus, grid, norm, precision, /*recompute=*/true), kept)
            << "tp " << grid.tp << (grid.sequence ? " with split rows" : "")
            << (norm == NormPosition::pre ? ", pre-norm" : ", post-norm")
            << (precision == Precision::bf16 ? ", bf16" : ", f32");
      }
}

// The base model of the paper: 12 blocks, of which one at a time has all its activations.
TEST(Recompute, TakesLessThanAThirdOfTheBaseModelsActivations) {
  RunConfig c;
  c.model.width = 512, c.model.heads = 8, c.model.feed_forward = 2048;
  c.model.encoder_layers = c.model.decoder_layers = 6;
  c.model.source_vocabulary = c.model.target_vocabulary = 8000;
  c.model.resolve(1);
  c.batch.rows = c.batch.source_rows = 4096;
  c.train.precision = Precision::f32;
  const auto world = make_single_communicator();
  const TensorParallel tp(*world);
  const auto bytes = [&](bool recompute) {
    c.train.recompute = recompute;
    Context dry(test_device(), /*dry_run=*/true);
    return arena_bytes(c, tp, dry);
  };
  EXPECT_LT(3 * bytes(true), bytes(false)) << bytes(true) << " and " << bytes(false);
}

}  // namespace
}  // namespace weft::testing
