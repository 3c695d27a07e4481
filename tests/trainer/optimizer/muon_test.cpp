// tests/trainer/optimizer/muon_test.cpp: what Muon orthogonalises, how, its checkpoints, and what it refuses.
#include "trainer/optimizer/muon.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tensor/random.h"
#include "tests/support/errors.h"
#include "tests/support/small_run.h"
#include "trainer/checkpoint/checkpoint_manifest.h"
#include "trainer/plan/memory_plan.h"
#include "trainer/precision.h"

namespace weft::testing {
namespace {

const TextCorpus& muon_corpus() {
  static const TextCorpus text(/*num_pairs=*/300);
  return text;
}

TEST(Muon, BringsSingularValuesNearOne) {
  Context ctx(test_device());
  for (const auto& [rows, cols] : {std::pair<int64_t, int64_t>{8, 20}, {20, 8}}) {
    ParamStore params(0, 1, DType::f32, test_device());
    const Param* p = params.declare({.name = "w", .shape = {rows, cols}, .matrix = true});
    params.use_as_matrix(p, rows);
    params.allocate();
    std::vector<float> u(static_cast<size_t>(rows * cols));
    for (size_t i = 0; i < u.size(); ++i) u[i] = 2 * uniform_from_bits(random_bits(1, i, 0, 0)) - 1;
    put(ctx, u, p->grad);
    Muon(params, MuonAdjust::original, nullptr, nullptr).orthogonalise(ctx);
    const std::vector<float> x = to_host<float>(ctx, p->grad);
    const double factor = muon_factor(MuonAdjust::original, rows, cols);
    double square = 0;  // the sum of the squared singular values, 8 of them
    for (const float value : x) square += value * value / (factor * factor);
    EXPECT_GT(square, 8 * 0.7 * 0.7);
    EXPECT_LT(square, 8 * 1.25 * 1.25);
  }
}

TEST(Muon, HasTheFactorsOfBothPapers) {
  EXPECT_DOUBLE_EQ(muon_factor(MuonAdjust::original, 64, 16), 2);
  EXPECT_DOUBLE_EQ(muon_factor(MuonAdjust::original, 16, 64), 1);
  for (const auto& [rows, cols] : {std::pair{64, 16}, {16, 64}})
    EXPECT_DOUBLE_EQ(muon_factor(MuonAdjust::match_rms_adamw, rows, cols), 0.2 * 8);
}

TEST(Muon, TakesEachFusedMatrixAloneAndLeavesTablesAndVectors) {
  ModelConfig config = run_config(muon_corpus()).model;
  config.source_vocabulary = config.target_vocabulary = 40, config.tying = Tying::all;
  config.activation = FeedForwardActivation::swiglu;
  config.encoder_layers = config.decoder_layers = 1;
  ParamStore params(0, 1, DType::f32, test_device());
  const Transformer model(config, params, 1);
  params.lay_out();
  // Encoder: Q, K, V, output, gate, value, down. Decoder: that, and Q, K, V, output of the cross-attention.
  EXPECT_EQ(Muon::matrices_of(params).size(), 7u + 11u);
  for (const MuonMatrix& m : Muon::matrices_of(params))
    EXPECT_TRUE(std::max(m.rows, m.cols) == config.width || std::max(m.rows, m.cols) == config.feed_forward);
  int64_t elements = 0;
  for (const Param& p : params.params())
    if (p.spec.matrix && !p.spec.pad) elements += p.numel();
  EXPECT_GE(Muon::elements_of(params).count, elements);
}

TEST(MuonTraining, LeavesEqualReplicas) {
  run_thread_ranks(4, [&](Communicator& world) {
    RunConfig config = run_config(muon_corpus());
    config.parallel = {.dp = 2, .tp = 2};
    config.optimizer.kind = OptimizerKind::muon;
    config.train.check_replicas = 1;
    config = resolved(config, world.size());
    const Mesh mesh(world, config.parallel, test_rank(world));
    SmallRun run(config, mesh);
    for (int i = 0; i < 2; ++i) EXPECT_NO_THROW(run.step());
  });
}

TEST(MuonTraining, SavesNoSecondMomentOfMatrices) {
  const TemporaryFolder folder;
  train(muon_corpus(), {.steps = 1, .to = folder.path(), .optimizer = OptimizerKind::muon});
  const CheckpointManifest manifest = read_checkpoint_manifest(folder / "step-00000001");
  const auto saved = [&](const std::string& name) { return manifest.tensors.contains(name); };
  EXPECT_TRUE(saved("adam.m.encoder.0.feed_forward.up.weight"));
  EXPECT_FALSE(saved("adam.v.encoder.0.feed_forward.up.weight"));
  for (const char* name : {"adam.v.embedding.weight", "adam.v.encoder.0.feed_forward.up.bias"})
    EXPECT_TRUE(saved(name)) << name;
}

TEST(MuonTraining, NeedsLessMemoryForMomentsAndSomeForItsIteration) {
  RunConfig config = resolved(run_config(muon_corpus()), 1);
  const auto alone = make_single_communicator();
  const TensorParallel tp(*alone);
  const MemoryPlan adam = plan_tensors(config, tp, Device::cpu);
  config.optimizer.kind = OptimizerKind::muon;
  const MemoryPlan muon = plan_tensors(config, tp, Device::cpu);
  EXPECT_LT(muon.moments, adam.moments);
  EXPECT_GT(muon.scratch, adam.scratch);
}

TEST(MuonTraining, RefusesAShardedOptimizer) {
  RunConfig config = run_config(muon_corpus());
  config.optimizer.kind = OptimizerKind::muon;
  config.parallel = {.dp = 2, .zero = 1};
  const std::string said = refusal_of(ErrorKind::usage, [&] { resolved(config, 2); });
  for (const char* part : {"optimizer.kind = muon", "parallel.zero = 1"}) EXPECT_TRUE(holds(said, part)) << said;
}

}  // namespace
}  // namespace weft::testing
