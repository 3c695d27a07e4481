// tests/devices/step_graphs_test.cpp: a step replayed as CUDA graphs equals the plain step bit for bit.
#include "trainer/step/step_graphs.h"

#include "tests/support/errors.h"
#include "tests/support/small_run.h"

namespace weft::testing {
namespace {

struct Variant {
  const char* name;
  Precision precision;
  int64_t blocks;
  bool recompute;
  OptimizerKind optimizer = OptimizerKind::adam;
  Consistency consistency = Consistency::none;
};
constexpr Variant kVariants[] = {{"f32", Precision::f32, 2, false},
                                 {"bf16", Precision::bf16, 2, false},
                                 {"f16", Precision::f16, 2, false},
                                 {"one_block", Precision::bf16, 1, false},
                                 {"recompute", Precision::bf16, 1, true},
                                 {"muon", Precision::bf16, 1, false, OptimizerKind::muon},
                                 {"schedule_free", Precision::bf16, 1, false, OptimizerKind::schedule_free},
                                 {"lion", Precision::bf16, 1, false, OptimizerKind::lion},
                                 {"simcut", Precision::bf16, 2, true, OptimizerKind::adam, Consistency::simcut},
                                 {"rdrop", Precision::f16, 1, false, OptimizerKind::adam, Consistency::rdrop}};

Trained trained(const TextCorpus& corpus, const Variant& variant, CudaGraph cuda_graph) {
  RunConfig config = run_config(corpus);
  config.train.precision = variant.precision;
  config.train.recompute = variant.recompute;
  config.train.consistency = variant.consistency;
  config.train.cuda_graph = cuda_graph;
  config.optimizer.kind = variant.optimizer;
  const bool is_free = variant.optimizer == OptimizerKind::schedule_free;  // its mean takes the average's place
  config.train.ema = is_free ? 0 : 0.9;
  if (is_free) config.schedule.kind = ScheduleKind::constant;
  config.batch.blocks = variant.blocks;
  const auto world = make_single_communicator();
  config = resolved(config, 1);
  const Mesh mesh(*world, config.parallel, rank_on(Device::cuda, *world));
  SmallRun run(config, mesh);
  Trainer& trainer = run.trainer;
  Trained result;
  for (int i = 0; i < 4; ++i) {
    const StepReport report = run.step();
    result.losses.insert(result.losses.end(), {report.loss(), report.nll(), report.grad_norm});
    const auto weights = trainer.evaluation_weights();  // between replays
  }
  EXPECT_EQ(trainer.graphs().recorded(), cuda_graph != CudaGraph::off);
  result.params = gather(trainer.replica().context(), trainer.replica().params(), mesh.tp(), /*gradients=*/false);
  result.params["the average"] = to_host<float>(trainer.replica().context(), trainer.states().back().flat.matrices);
  return result;
}

class StepGraphsTest : public ::testing::TestWithParam<Variant> {};

TEST_P(StepGraphsTest, GiveTheBitsOfTheStepsThatAreNotRecorded) {
  const TextCorpus corpus(/*num_pairs=*/200);
  const Trained plain = trained(corpus, GetParam(), CudaGraph::off);
  const Trained replayed = trained(corpus, GetParam(), CudaGraph::automatic);
  EXPECT_NE(plain.losses.front(), plain.losses[3]);
  EXPECT_EQ(replayed.losses, plain.losses);
  EXPECT_EQ(replayed.params, plain.params);
}

INSTANTIATE_TEST_SUITE_P(Variants, StepGraphsTest, ::testing::ValuesIn(kVariants),
                         [](const auto& info) { return info.param.name; });

std::string refusal(const TextCorpus& corpus, Device device) {
  return message_of(ErrorKind::usage, [&] {
    run_thread_ranks(2, [&](Communicator& world) {
      RunConfig config = run_config(corpus);
      config.parallel.dp = 2;
      config.train.cuda_graph = CudaGraph::on;
      config = resolved(config, 2);
      const Mesh mesh(world, config.parallel, rank_on(device, world));
      const Trainer trainer(config, mesh);
    });
  });
}

// Ranks that share a GPU all-reduce through host memory.
TEST(StepGraphs, AreRefusedWhereTheHostTakesPart) {
  const TextCorpus corpus(/*num_pairs=*/200);
  for (const Device device : {Device::cpu, Device::cuda})
    EXPECT_NE(refusal(corpus, device).find("train.cuda_graph"), std::string::npos) << refusal(corpus, device);
}

TEST(StepGraphs, AreUsedByThemselvesWhereTheyCanBeRecorded) {
  RunConfig alone, ranks, refused;
  ranks.parallel.dp = 2;
  refused.train.cuda_graph = CudaGraph::off;
  const RankDevice cpu, gpu{.device = Device::cuda}, shared_gpu{.device = Device::cuda, .num_sharing = 2};
  EXPECT_EQ(choose_graphs(alone, cpu), CudaGraph::off);
  EXPECT_EQ(choose_graphs(alone, gpu), CudaGraph::automatic);
  EXPECT_EQ(choose_graphs(ranks, gpu), CudaGraph::automatic);
  EXPECT_EQ(choose_graphs(ranks, shared_gpu), CudaGraph::off);
  EXPECT_EQ(choose_graphs(refused, gpu), CudaGraph::off);
}

TEST(RecordedWork, IsDoneOnceEachTimeThatItIsAskedFor) {
  Context ctx(Device::cuda);
  const Buffer memory(2 * sizeof(float), Device::cuda);
  const Tensor one = memory.tensor({1}), sum = memory.tensor({1}, DType::f32, sizeof(float));
  weft::ops::fill(ctx, {.x = one, .value = 1});
  RecordedWork work;
  for (int i = 1; i <= 4; ++i) {
    const auto add_one = [&] { weft::ops::add(ctx, {.x = one, .y = sum}); };
    if (i == 2)
      work.record(ctx, add_one);
    else
      work.run(ctx, add_one);
    EXPECT_EQ(to_host<float>(ctx, sum)[0], static_cast<float>(i));
    EXPECT_EQ(work.recorded(), i > 1);
  }
}

TEST(RecordedWork, KeepsItsScratchMemoryFromGrowing) {
  Context ctx(Device::cuda);
  const Buffer memory(300 * sizeof(float), Device::cuda);
  const auto add_up = [&](int64_t cols) {
    weft::ops::column_sum(ctx,
                          {.x = memory.tensor({2, cols}), .y = memory.tensor({cols}, DType::f32, 200 * sizeof(float))});
  };
  {
    RecordedWork work;
    work.run(ctx, [&] { add_up(10); });
    work.record(ctx, [&] { add_up(10); });
    EXPECT_THROW(add_up(100), Error);
    add_up(10);
  }
  add_up(100);
  ctx.synchronize();
}

TEST(RecordedWork, ThatFailsLeavesTheStreamFree) {
  Context ctx(Device::cuda);
  const Buffer memory(sizeof(float), Device::cuda);
  const Tensor x = memory.tensor({1});
  RecordedWork work;
  EXPECT_THROW(work.record(ctx, [&] { to_host<float>(ctx, x); }), Error);  // waits, which is not allowed
  weft::ops::fill(ctx, {.x = x, .value = 3});
  EXPECT_EQ(to_host<float>(ctx, x)[0], 3);
}

}  // namespace
}  // namespace weft::testing
