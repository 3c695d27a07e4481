// tests/prediction/prediction_test.cpp: predictions add up, and follow the GPU and the options.
#include "tests/prediction/prediction.h"

#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>

#include "tests/prediction/kernel_costs.h"
#include "tests/support/errors.h"
#include "trainer/bench/bench.h"
#include "trainer/bench/step_times.h"
#include "trainer/bench/synthetic_step.h"
#include "trainer/config/config_text.h"
#include "trainer/step/dry_step.h"

namespace weft::testing {
namespace {

RunConfig base_run(int64_t rows = 1024) {
  RunConfig c;
  c.batch.rows = rows, c.batch.blocks = 2;
  c.train.cuda_graph = CudaGraph::off;
  return c;
}

Prediction predicted(const RunConfig& config, GpuKind gpu = GpuKind::h100) {
  return predict(gpu, resolve_prediction(config));
}

const PredictedOp& op_of(const Prediction& p, const std::string& name) {
  const auto found = std::find_if(p.block.begin(), p.block.end(), [&](const PredictedOp& o) { return o.name == name; });
  EXPECT_NE(found, p.block.end()) << name;
  return *found;
}

TEST(Prediction, AddsUp) {
  const Prediction p = predicted(base_run());
  double block = 0, added = 0;
  for (const PredictedOp& op : p.block) block += op.seconds;
  for (const PredictedOp& op : p.step) added += op.seconds;
  EXPECT_DOUBLE_EQ(p.block_seconds, block);
  EXPECT_DOUBLE_EQ(p.added_seconds, added);
  EXPECT_DOUBLE_EQ(p.tokens_per_second(), static_cast<double>(p.target_tokens) / (2 * block + added));
}

TEST(Prediction, CountsRealTargetTokensAlone) {
  RunConfig wide = base_run();
  wide.batch.source_rows = 512;  // fills first: target rows are left
  const Prediction p = predicted(wide);
  EXPECT_LT(p.target_tokens, 0.9 * 2 * 1024);
  EXPECT_GT(p.target_tokens, 0.3 * 2 * 1024);
}

TEST(Prediction, IsNeverFasterThanTheRoofline) {
  for (const GpuKind gpu : {GpuKind::h100, GpuKind::h200, GpuKind::a100}) {
    const Prediction p = predicted(base_run(), gpu);
    for (const auto* ops : {&p.block, &p.step})
      for (const PredictedOp& op : *ops) EXPECT_LT(op.roofline, op.seconds) << op.name;
  }
}

// A logit is read and its gradient written, 2 bytes each, at 2.85 TB/s.
TEST(Prediction, OfAnOpBoundByMemoryIsItsBytes) {
  const PredictedOp& op = op_of(predicted(base_run()), "cross_entropy");
  const double logits = 1024.0 * kBenchVocabulary;
  EXPECT_NEAR(op.seconds, logits * 4 / 2.85e12 + 3.2e-6, 1e-8);
}

// A norm's backward kernel takes 533 instructions of a thread for 8 elements, 32 threads at once, 1.8 a cycle on 132
// SMs; a forward kernel takes 557, 3 a cycle.
TEST(Prediction, OfAKernelThatMemoryDoesNotBoundIsItsInstructions) {
  const auto seconds = [](const char* name) {
    const PredictedOp op = op_of(predicted(base_run()), name);
    EXPECT_EQ(op.launches, op.calls);
    return op.seconds / static_cast<double>(op.calls);
  };
  const double groups = 1024.0 * 512 / 8 / 32, cycles = 132 * 1.755e9;
  EXPECT_NEAR(seconds("residual_norm_backward"), groups * 533 / (1.8 * cycles) + 3.2e-6, 1e-10);
  EXPECT_NEAR(seconds("residual_norm_forward"), groups * 557 / (3 * cycles) + 3.2e-6, 1e-10);
}

// Both kernels of a look-up's gradient are bound by loads in series: 6.7 us and 4.5 us.
TEST(Prediction, OfAnOpOfTwoKernelsIsTheirSum) {
  const PredictedOp op = op_of(predicted(base_run()), "embedding_backward");
  EXPECT_EQ(op.launches, 2 * op.calls);
  EXPECT_NEAR(op.seconds, static_cast<double>(op.calls) * (6.7e-6 + 4.5e-6 + 2 * 3.2e-6), 1e-9);
}

TEST(Prediction, SparesTheGapsOfAGraph) {
  RunConfig graph = base_run();
  graph.train.cuda_graph = CudaGraph::on;
  const PredictedOp before = op_of(predicted(base_run()), "fill"), after = op_of(predicted(graph), "fill");
  EXPECT_NEAR(before.seconds - after.seconds, static_cast<double>(before.launches) * 0.9e-6, 1e-10);
}

TEST(Prediction, FollowsTheGpu) {
  const double h100 = predicted(base_run()).tokens_per_second();
  EXPECT_GT(predicted(base_run(), GpuKind::h200).tokens_per_second(), h100);
  EXPECT_LT(predicted(base_run(), GpuKind::a100).tokens_per_second(), h100);
}

TEST(Prediction, KnowsEveryKindOfModel) {
  for (const FeedForwardActivation activation :
       {FeedForwardActivation::relu, FeedForwardActivation::gelu, FeedForwardActivation::swiglu})
    for (const Positions positions : {Positions::interleaved, Positions::learned, Positions::rotary})
      for (const NormPosition norm : {NormPosition::pre, NormPosition::post})
        for (const int64_t kv_heads : {0, 2})
          for (const double dropout : {0.0, 0.1}) {
            RunConfig c = base_run(256);
            c.model.activation = activation, c.model.positions = positions, c.model.norm = norm;
            c.model.kv_heads = kv_heads;
            c.model.dropout = c.model.dropout_feed_forward = c.model.dropout_attention = dropout;
            c.model.bias_attention = c.model.bias_output = true;
            EXPECT_GT(predicted(c).tokens_per_second(), 0);
          }
}

TEST(Prediction, HasAnOriginForEachCost) {
  const std::set<std::string_view> of_products = {"gemm bias", "gemm d_bias"};
  for (const KernelCost& cost : kernel_costs()) {
    EXPECT_FALSE(cost.origin.empty()) << cost.kernel;
    EXPECT_NE(of_products.contains(cost.op), std::string_view(part_of(std::string(cost.op).c_str())) != "other");
  }
  EXPECT_FALSE(attention_forward_cost().origin.empty());
  EXPECT_FALSE(attention_backward_cost().origin.empty());
}

// The first column of the census counts the same model, with 32 rows, on the emulated device: "2+1" calls are 2 in a
// block and 1 that a step adds.
TEST(Prediction, HasAsManyLaunchesAsTheEmulatedDeviceCounts) {
  RunConfig base;
  apply_cfg_file(WEFT_SOURCE_DIR "/configs/base.cfg", base);
  base.batch.rows = 32;
  const Prediction p = predicted(base);
  const auto launches_of = [](const std::vector<PredictedOp>& ops) {
    int64_t launches = 0;
    for (const PredictedOp& op : ops) launches += op.launches;
    return launches;
  };
  std::ifstream census(WEFT_SOURCE_DIR "/tests/census/census.txt");
  int64_t block = 0, step = 0;
  for (std::string line, calls; std::getline(census, line);) {
    if (line.find("  kernel ") == std::string::npos && line.find("  cublasLt") == std::string::npos) continue;
    int64_t in_block = 0, in_step = 0;
    std::istringstream(line) >> calls;
    std::istringstream(calls) >> in_block >> in_step;
    block += in_block, step += in_step;
  }
  ASSERT_GT(block, 0);
  EXPECT_EQ(launches_of(p.block), block);
  EXPECT_EQ(launches_of(p.step), step);
}

TEST(Prediction, OfMuonIteratesInBf16) {
  RunConfig c = base_run();
  c.optimizer.kind = OptimizerKind::muon;
  Step data = synthetic_step(resolve_prediction(c), 0, 1);
  for (const OpTrace::Op& op : step_ops(resolve_prediction(c), data.blocks.front(), Device::cuda).step)
    if (op.name == std::string("gemm")) {
      EXPECT_EQ(op.operands.front().tensor.dtype, DType::bf16);
    }
}

TEST(Prediction, RefusesWhatItDoesNotKnow) {
  RunConfig c = base_run();
  c.parallel.tp = 2;
  EXPECT_EQ(message_of(ErrorKind::usage, [&] { resolve_prediction(c); }),
            "parallel.dp = 0 and parallel.tp = 2: one GPU is predicted; leave them out");
  c = base_run();
  c.train.precision = Precision::f32;
  EXPECT_NE(message_of(ErrorKind::usage, [&] { resolve_prediction(c); }).find("train.precision = f32"),
            std::string::npos);
}

}  // namespace
}  // namespace weft::testing
