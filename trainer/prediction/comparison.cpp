// trainer/prediction/comparison.cpp: finds what was measured for each predicted op.
#include "trainer/prediction/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace weft {
namespace {

// Seconds of a call of each kind, as they were measured; 0: not measured.
double measured_call(const BenchReport& report, const PredictedOp& op) {
  for (const GemmRate& rate : report.products) {
    const Product& p = rate.product;
    const std::string name = fmt::format("gemm {} x {} x {}", p.m, p.n, p.k);
    if (op.name == name || op.name == name + ", added") return p.flops() / rate.median;
  }
  double seconds = 0;
  int64_t calls = 0;
  for (const KernelRate& rate : report.kernels)
    if (rate.op == op.name) seconds += static_cast<double>(rate.calls) * rate.median, calls += rate.calls;
  return calls == 0 ? 0 : seconds / static_cast<double>(calls);
}

}  // namespace

GpuKind predicted_gpu(const BenchReport& report) {
  if (report.own.device == Device::cpu || report.ranks > 1 || report.config.train.precision == Precision::f32)
    return GpuKind::none;
  return gpu_kind_of(report.device_name());
}

Comparison compare_with_prediction(GpuKind gpu, const BenchReport& report) {
  RunConfig config = report.config;
  Comparison result{.measured_step = report.step.seconds, .predicted_step = predict(gpu, config).step_seconds()};
  config.train.cuda_graph = CudaGraph::off;  // ops were measured one by one
  const Prediction p = predict(gpu, config);
  for (const std::vector<PredictedOp>* part : {&p.block, &p.step})
    for (const PredictedOp& op : *part) {
      const double call = measured_call(report, op);
      if (call == 0) continue;
      auto found = std::ranges::find(result.ops, op.name, &ComparedOp::name);
      if (found == result.ops.end()) found = result.ops.insert(found, {.name = op.name});
      found->calls += op.calls;
      found->measured += static_cast<double>(op.calls) * call;
      found->predicted += op.seconds;
    }
  std::ranges::stable_sort(result.ops, std::ranges::greater{},
                           [](const ComparedOp& op) { return std::abs(op.measured - op.predicted); });
  return result;
}

}  // namespace weft
