// trainer/bench/step_times.cpp: runs steps of a real Trainer with a trace of its ops and collectives.
#include "trainer/bench/step_times.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "parallel/mesh.h"
#include "parallel/traced_communicator.h"
#include "tensor/ops.h"
#include "trainer/bench/synthetic_step.h"
#include "trainer/step/repeat.h"
#include "trainer/trainer.h"

namespace weft {
namespace {

constexpr const char* kParts[] = {"gemm",      "attention",     "normalization", "elementwise",
                                  "embedding", "cross_entropy", "optimizer",     "communication"};
constexpr const char* kOther = "other";
constexpr double kRate = 1e-4;  // learning rate; the times do not depend on it

double& named(NamedSeconds& all, std::string_view name) {
  return std::find_if(all.begin(), all.end(), [&](const auto& entry) { return entry.first == name; })->second;
}

struct TracedStep {
  StepReport report;
  OpTrace trace;
};

// Runs the same number of steps on all ranks, at least one, and returns the steps sorted by time, fastest first.
std::vector<TracedStep> run_steps(Trainer& trainer, OpTrace& trace, const Step& step, Communicator& world,
                                  double seconds) {
  if (trainer.graphs().enabled()) {
    for (int i = 0; i < 3; ++i) trainer.step_on(step, kRate);  // later steps are replayed, also with sharded moments
  } else {
    trainer.step_on(first_block_of(step), kRate);
  }
  std::vector<TracedStep> steps;
  repeat(world, seconds, [&] {
    trace.calls.clear();
    const StepReport report = trainer.step_on(step, kRate);
    steps.push_back({report, trace});
  });
  std::sort(steps.begin(), steps.end(),
            [](const auto& a, const auto& b) { return a.report.seconds < b.report.seconds; });
  return steps;
}

}  // namespace

const char* part_of(const char* call) {
  const std::string_view name = call;
  if (name == kCollective) return "communication";
#define WEFT_PART_OF_OP(function, Arguments, part) \
  if (name == #function) return #part;
  WEFT_OPS(WEFT_PART_OF_OP)
#undef WEFT_PART_OF_OP
  return kOther;
}

NamedSeconds parts_of(const OpTrace& trace, double seconds) {
  NamedSeconds parts;
  for (const char* part : kParts) parts.emplace_back(part, 0);
  parts.emplace_back(kOther, seconds);
  for (const OpTrace::Call& call : trace.calls) {
    named(parts, part_of(call.name)) += call.seconds();
    named(parts, kOther) -= call.seconds();
  }
  return parts;
}

// A step first zeroes the gradients. Each block then starts with its embeddings, but with a sharded optimizer, the
// first block starts by gathering the weights. The backward pass of a block starts after its loss. The gradient norm
// follows the last block.
NamedSeconds phases_of(const OpTrace& trace, double seconds) {
  NamedSeconds phases{{"forward", 0}, {"backward", 0}, {"optimizer", 0}};
  const char* phase = "optimizer";
  double rest = seconds, before = trace.calls.empty() ? 0 : trace.calls.front().begin;
  for (const OpTrace::Call& call : trace.calls) {
    const bool gathers = std::strcmp(call.name, kCollective) == 0 && named(phases, "forward") == 0;
    if (gathers || std::strcmp(call.name, "embedding_forward") == 0) phase = "forward";
    if (std::strcmp(call.name, "sum_squares") == 0) phase = "optimizer";
    named(phases, phase) += call.end - before;
    rest -= call.end - before;
    before = call.end;
    if (std::strcmp(call.name, "cross_entropy") == 0 || std::strcmp(call.name, "consistency_loss") == 0)
      phase = "backward";
  }
  named(phases, "optimizer") += rest;
  return phases;
}

StepTimes measure_steps(const RunConfig& config, Communicator& world, double seconds, const RankDevice& own) {
  const bool waits = own.device == Device::cpu;  // CPU ops are synchronous, so tracing them costs nothing
  OpTrace trace;
  const std::unique_ptr<Communicator> traced = make_traced_communicator(world, trace);
  const Mesh mesh(*traced, config.parallel, own);
  Trainer trainer(config, mesh);
  if (config.train.tune_gemm) trainer.tune_gemms("");
  if (waits) trainer.replica().context().set_trace(&trace);
  const Step step = synthetic_step(config, mesh.dp().rank(), mesh.dp().size());
  const std::vector<TracedStep> steps = run_steps(trainer, trace, step, world, seconds);
  const TracedStep& median = steps[steps.size() / 2];
  TracedStep looked_at = median;
  if (!waits) {
    trainer.replica().context().set_trace(&trace);
    looked_at = run_steps(trainer, trace, step, world, /*seconds=*/0).front();
  }
  const double looked_at_seconds = looked_at.report.seconds;
  return {.seconds = median.report.seconds,
          .best_seconds = steps.front().report.seconds,
          .steps = static_cast<int64_t>(steps.size()),
          .source_tokens = median.report.totals.source_tokens,
          .target_tokens = median.report.totals.target_tokens,
          .fill = median.report.totals.fill(config.batch),
          .flops = median.report.totals.flops,
          .looked_at = looked_at_seconds,
          .phases = phases_of(looked_at.trace, looked_at_seconds),
          .parts = parts_of(looked_at.trace, looked_at_seconds)};
}

}  // namespace weft
