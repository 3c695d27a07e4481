// tests/trainer/prediction/comparison_test.cpp: what was measured is beside the prediction of the same op.
#include "trainer/prediction/comparison.h"

#include <gtest/gtest.h>

namespace weft::testing {
namespace {

// Measured times of `config` on an H100 that are exactly the predicted ones.
BenchReport as_predicted(const RunConfig& config) {
  BenchReport report{.config = config};
  report.step.seconds = predict(GpuKind::h100, config).step_seconds();
  RunConfig by_themselves = config;
  by_themselves.train.cuda_graph = CudaGraph::off;
  const Prediction p = predict(GpuKind::h100, by_themselves);
  for (const std::vector<PredictedOp>* part : {&p.block, &p.step})
    for (const PredictedOp& op : *part) {
      const double call = op.seconds / static_cast<double>(op.calls);
      if (op.part != "gemm" && op.part != "other")
        report.kernels.push_back({.op = op.name, .calls = op.calls, .best = call, .median = call});
    }
  return report;
}

RunConfig small_run() {
  RunConfig c;
  c.model.encoder_layers = c.model.decoder_layers = 1;
  c.batch.rows = 256, c.batch.blocks = 2;
  return resolve_prediction(c);
}

const ComparedOp& op_of(const Comparison& c, const std::string& name) {
  return *std::ranges::find(c.ops, name, &ComparedOp::name);
}

TEST(Comparison, OfWhatWasPredictedFindsNoDifference) {
  const Comparison c = compare_with_prediction(GpuKind::h100, as_predicted(small_run()));
  EXPECT_DOUBLE_EQ(c.measured_step, c.predicted_step);
  for (const char* op : {"attention_backward", "residual_norm_forward", "adam", "fill"})
    EXPECT_NE(std::ranges::find(c.ops, op, &ComparedOp::name), c.ops.end()) << op;
  for (const ComparedOp& op : c.ops) EXPECT_NEAR(op.measured, op.predicted, 1e-12) << op.name;
}

TEST(Comparison, BeginsWithTheGreatestDifference) {
  BenchReport report = as_predicted(small_run());
  for (KernelRate& rate : report.kernels)
    if (rate.op == "attention_forward") rate.median *= 3;
  const Comparison c = compare_with_prediction(GpuKind::h100, report);
  EXPECT_EQ(c.ops.front().name, "attention_forward");
  EXPECT_NEAR(c.ops.front().measured, 3 * c.ops.front().predicted, 1e-12);
}

TEST(Comparison, FindsMatrixProductsByTheirShape) {
  BenchReport report = as_predicted(small_run());
  const Product product{"ffn up", ProductPass::forward, 256, 2048, 512};
  report.products.push_back({.product = product, .best = 2e12, .median = 1e12});
  report.products.push_back({.product = {"", ProductPass::forward, 256, 2048, 51}, .best = 1, .median = 1});
  const ComparedOp& op = op_of(compare_with_prediction(GpuKind::h100, report), "gemm 256 x 2048 x 512");
  EXPECT_NEAR(op.measured, static_cast<double>(op.calls) * product.flops() / 1e12, 1e-12);
}

TEST(Comparison, KnowsGpusByTheirNames) {
  EXPECT_EQ(gpu_kind_of("NVIDIA H100 80GB HBM3"), GpuKind::h100);
  EXPECT_EQ(gpu_kind_of("NVIDIA H200"), GpuKind::h200);
  EXPECT_EQ(gpu_kind_of("NVIDIA A100-SXM4-80GB"), GpuKind::a100);
  EXPECT_EQ(gpu_kind_of("NVIDIA GeForce RTX 4090"), GpuKind::none);
}

}  // namespace
}  // namespace weft::testing
