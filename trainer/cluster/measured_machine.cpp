// trainer/cluster/measured_machine.cpp: computes a machine's rates from measured times.
#include "trainer/cluster/measured_machine.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <thread>

#include "data/order/step_plan.h"
#include "trainer/bench/synthetic_step.h"
#include "trainer/step/dry_step.h"

namespace weft {
namespace {

double seconds_of(const NamedSeconds& all, std::string_view name) {
  double seconds = 0;
  for (const auto& [part, time] : all)
    if (part == name) seconds += time;
  return seconds;
}

Constant measured(double value) {  // rounds to four digits, because more would be noise
  const double unit = value > 0 ? std::pow(10, std::floor(std::log10(value)) - 3) : 1;
  return {.value = std::round(value / unit) * unit, .origin = ConstantOrigin::measured};
}

void measure_processor(const BenchReport& report, ProcessorConfig& into) {
  RunConfig one_block = report.config;
  one_block.batch.blocks = 1;
  Step data = synthetic_step(one_block, 0, 1);
  const StepOps ops = step_ops(report.config, data.blocks.front(), report.own.device);
  const int64_t blocks =
      blocks_of_rank(report.config.batch.blocks, 0, static_cast<int>(report.config.parallel.dp)).count;
  double flops = 0, update_flops = 0, bytes = 0;
  for (const OpTrace::Op& op : ops.block) flops += static_cast<double>(blocks) * op.cost.flops;
  for (const OpTrace::Op& op : ops.step) {
    update_flops += op.cost.flops;  // Muon's matrix products, assumed to be as fast as others
    bytes += op.cost.flops > 0 ? 0 : op.cost.bytes;
  }
  const StepTimes& step = report.step;
  const double passes = seconds_of(step.phases, "forward") + seconds_of(step.phases, "backward");
  into.flops = measured(flops / (passes - seconds_of(step.parts, "communication")));
  into.update_bandwidth = measured(bytes / (seconds_of(step.phases, "optimizer") - update_flops / into.flops));
}

// The smallest tensor gives the latency. The largest tensor exceeds caches, as gradients do, and gives the bandwidth.
void measure_links(const BenchReport& report, Machine& into) {
  if (report.all_reduce.empty()) return;
  const auto by_bytes = [](const AllReduceRate& a, const AllReduceRate& b) { return a.bytes < b.bytes; };
  const auto [least, most] = std::minmax_element(report.all_reduce.begin(), report.all_reduce.end(), by_bytes);
  const auto n = static_cast<double>(report.ranks);
  into.node.latency = measured(least->seconds);
  into.node.bandwidth =
      measured(2 * (n - 1) / n * static_cast<double>(most->bytes) / std::max(most->seconds - least->seconds, 1e-9));
  into.network.host_latency = measured(least->seconds);
}

}  // namespace

Machine measured_machine(const BenchReport& report) {
  Machine machine{.name = report.device_name()};
  machine.node.ranks = report.ranks;
  if (const double share = report.load.other_cores / report.load.cores; std::isfinite(share))
    machine.other_programs = std::round(100 * share) / 100;
  if (report.own.device == Device::cpu) {
    const auto cores = static_cast<int64_t>(std::thread::hardware_concurrency());
    machine.node.cores = std::max<int64_t>(1, cores / report.threads);
    machine.processor.lost_to_collectives = {.value = 1, .origin = ConstantOrigin::assumed};  // they use the same cores
  }
  machine.processor.precision = report.config.train.precision;
  measure_processor(report, machine.processor);
  measure_links(report, machine);
  return machine;
}

}  // namespace weft
