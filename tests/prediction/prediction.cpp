// tests/prediction/prediction.cpp: times of all ops of a step, added up, and found in what was measured.
#include "tests/prediction/prediction.h"

#include <algorithm>

#include <cmath>
#include <nlohmann/json.hpp>
#include "tensor/error.h"

#include "tests/prediction/kernel_costs.h"
#include "tests/prediction/op_time.h"
#include "trainer/bench/bench.h"
#include "trainer/bench/synthetic_step.h"
#include "trainer/step/dry_step.h"

namespace weft {
namespace {

using Op = OpTrace::Op;

void add(std::vector<PredictedOp>& all, const PredictedOp& one) {
  const auto same = std::find_if(all.begin(), all.end(), [&](const PredictedOp& o) { return o.name == one.name; });
  if (same == all.end()) return all.push_back(one);
  same->calls += one.calls, same->launches += one.launches;
  same->bytes += one.bytes, same->flops += one.flops;
  same->seconds += one.seconds, same->roofline += one.roofline;
}

// Seconds of a call of each kind, as they were measured; 0: not measured.
double measured_call(const nlohmann::json& bench, const PredictedOp& op) {
  for (const nlohmann::json& gemm : bench.at("gemm")) {
    const double m = gemm.at("m"), n = gemm.at("n"), k = gemm.at("k");
    const std::string name = fmt::format("gemm {} x {} x {}", m, n, k);
    if (op.name == name || op.name == name + ", added") return 2 * m * n * k / (1e9 * double(gemm.at("median_gflops")));
  }
  double seconds = 0, calls = 0;
  for (const nlohmann::json& kernel : bench.at("kernels"))
    if (kernel.at("op") == op.name)
      seconds += double(kernel.at("calls")) * double(kernel.at("median_seconds")), calls += double(kernel.at("calls"));
  return calls == 0 ? 0 : seconds / calls;
}

double finish(std::vector<PredictedOp>& all) {  // sorts; returns the sum of their times
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.seconds > b.seconds; });
  double seconds = 0;
  for (const PredictedOp& op : all) seconds += op.seconds;
  return seconds;
}

}  // namespace

RunConfig resolve_prediction(RunConfig c) {
  if (std::max<int64_t>(c.parallel.dp, 1) * c.parallel.tp > 1)
    fail(ErrorKind::usage, fmt::format("parallel.dp = {} and parallel.tp = {}: one GPU is predicted; leave them out",
                                       c.parallel.dp, c.parallel.tp));
  if (c.train.precision == Precision::f32)
    fail(ErrorKind::usage, "train.precision = f32: the rates of bf16 and f16 are known; give one of them");
  if (c.train.precision == Precision::automatic) c.train.precision = Precision::bf16;
  if (c.train.cuda_graph == CudaGraph::automatic) c.train.cuda_graph = CudaGraph::on;
  return resolve_bench(c, *make_single_communicator());
}

Prediction predict(GpuKind gpu, const RunConfig& config) {
  Step data = synthetic_step(config, 0, 1);
  const StepOps ops = step_ops(config, data.blocks.front(), Device::cuda);
  const GpuModel& device = gpu_model(gpu);
  const OpTimes model(device, config.train.cuda_graph == CudaGraph::on), stream(device, /*graph=*/false);
  Prediction p{.gpu = gpu, .config = config};
  for (const Op& op : ops.block) add(p.block, model.time(op));
  p.block.push_back({.part = "other",
                     .name = "copies from the host",
                     .calls = kUploadsOfBlock,
                     .seconds = kUploadsOfBlock * (device.gap_stream + device.seconds_to_device_copy)});
  for (const Op& op : ops.step) add(p.step, stream.time(op));
  p.step.push_back({.part = "other",
                    .name = "reads by the host",
                    .calls = kHostReads,
                    .seconds = kHostReads * device.seconds_to_host});
  p.block_seconds = finish(p.block);
  p.added_seconds = finish(p.step);
  p.source_tokens = data.source_tokens(), p.target_tokens = data.target_tokens();
  return p;
}

std::vector<ComparedOp> compare_with_prediction(GpuKind gpu, const RunConfig& config, const nlohmann::json& measured) {
  RunConfig by_themselves = config;
  by_themselves.train.cuda_graph = CudaGraph::off;
  const Prediction p = predict(gpu, by_themselves);
  std::vector<ComparedOp> ops;
  for (const std::vector<PredictedOp>* part : {&p.block, &p.step})
    for (const PredictedOp& op : *part) {
      const double call = measured_call(measured, op);
      if (call == 0) continue;
      auto found = std::ranges::find(ops, op.name, &ComparedOp::name);
      if (found == ops.end()) found = ops.insert(found, {.name = op.name});
      found->calls += op.calls;
      found->measured += static_cast<double>(op.calls) * call;
      found->predicted += op.seconds;
    }
  std::ranges::stable_sort(ops, std::ranges::greater{},
                           [](const ComparedOp& op) { return std::abs(op.measured - op.predicted); });
  return ops;
}

}  // namespace weft
