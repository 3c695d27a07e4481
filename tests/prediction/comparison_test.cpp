// tests/prediction/comparison_test.cpp: what was measured is beside the prediction of the same op.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tests/prediction/prediction.h"

namespace weft::testing {
namespace {

using nlohmann::json;

// What `weft bench --json` would print of an H100 whose times are exactly the predicted ones.
json as_predicted(const RunConfig& config) {
  RunConfig by_themselves = config;
  by_themselves.train.cuda_graph = CudaGraph::off;
  const Prediction p = predict(GpuKind::h100, by_themselves);
  json bench{{"gemm", json::array()}, {"kernels", json::array()}};
  for (const std::vector<PredictedOp>* part : {&p.block, &p.step})
    for (const PredictedOp& op : *part)
      if (op.part != "gemm" && op.part != "other")
        bench["kernels"].push_back(
            {{"op", op.name}, {"calls", op.calls}, {"median_seconds", op.seconds / static_cast<double>(op.calls)}});
  return bench;
}

RunConfig small_run() {
  RunConfig c;
  c.model.encoder_layers = c.model.decoder_layers = 1;
  c.batch.rows = 256, c.batch.blocks = 2;
  return resolve_prediction(c);
}

std::vector<ComparedOp> compared(const json& bench) {
  return compare_with_prediction(GpuKind::h100, small_run(), bench);
}

TEST(Comparison, OfWhatWasPredictedFindsNoDifference) {
  const std::vector<ComparedOp> ops = compared(as_predicted(small_run()));
  for (const char* op : {"attention_backward", "residual_norm_forward", "update", "fill"})
    EXPECT_NE(std::ranges::find(ops, op, &ComparedOp::name), ops.end()) << op;
  for (const ComparedOp& op : ops) EXPECT_NEAR(op.measured, op.predicted, 1e-12) << op.name;
}

TEST(Comparison, BeginsWithTheGreatestDifference) {
  json bench = as_predicted(small_run());
  for (json& kernel : bench["kernels"])
    if (kernel.at("op") == "attention_forward") kernel["median_seconds"] = 3 * kernel["median_seconds"].get<double>();
  const std::vector<ComparedOp> ops = compared(bench);
  EXPECT_EQ(ops.front().name, "attention_forward");
  EXPECT_NEAR(ops.front().measured, 3 * ops.front().predicted, 1e-12);
}

TEST(Comparison, FindsMatrixProductsByTheirShape) {
  json bench = as_predicted(small_run());
  bench["gemm"].push_back({{"m", 256}, {"n", 2048}, {"k", 512}, {"median_gflops", 1e3}});
  bench["gemm"].push_back({{"m", 256}, {"n", 2048}, {"k", 51}, {"median_gflops", 1}});
  const std::vector<ComparedOp> ops = compared(bench);
  const auto op = std::ranges::find(ops, "gemm 256 x 2048 x 512", &ComparedOp::name);
  ASSERT_NE(op, ops.end());
  EXPECT_NEAR(op->measured, static_cast<double>(op->calls) * 2 * 256 * 2048 * 512 / 1e12, 1e-12);
}

}  // namespace
}  // namespace weft::testing
