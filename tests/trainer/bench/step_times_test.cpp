// tests/trainer/bench/step_times_test.cpp: every second of a step belongs to one part and one phase; tracing
// does not change the results.
#include "trainer/bench/step_times.h"

#include <gtest/gtest.h>

#include <numeric>

#include "parallel/traced_communicator.h"
#include "tests/support/small_model.h"
#include "trainer/bench/bench.h"
#include "trainer/bench/synthetic_step.h"
#include "trainer/step/step_flops.h"
#include "trainer/trainer.h"

namespace weft::testing {
namespace {

RunConfig step_config(Communicator& world, Precision precision = Precision::f32) {
  RunConfig c;
  c.model = small_config();
  c.model.dropout = 0.1;
  c.batch.rows = 64, c.batch.blocks = 2;
  c.train.precision = precision;
  return resolve_bench(c, world, test_rank(world));
}

double seconds_of(const NamedSeconds& all, const std::string& name) {
  for (const auto& [one, seconds] : all)
    if (one == name) return seconds;
  ADD_FAILURE() << "no " << name;
  return -1;
}

double total(const NamedSeconds& all) {
  return std::accumulate(all.begin(), all.end(), 0.0, [](double sum, const auto& one) { return sum + one.second; });
}

// A step of two blocks and 30 seconds: each call takes a second and starts a second after the previous one;
// one second is left at the end.
OpTrace made_up_trace() {
  OpTrace trace;
  double at = 0;
  for (const char* name :
       {"fill", "embedding_forward", "gemm", "cross_entropy", "gemm", kCollective, "embedding_forward", "cross_entropy",
        "gemm", "attention_backward", kCollective, "sum_squares", "update", "something new"}) {
    trace.calls.push_back({name, at, at + 1});
    at += 2;
  }
  return trace;
}

TEST(StepTimes, GiveEachCallItsPart) {
  const NamedSeconds parts = parts_of(made_up_trace(), 30);
  EXPECT_EQ(seconds_of(parts, "gemm"), 3);
  EXPECT_EQ(seconds_of(parts, "attention"), 1);
  EXPECT_EQ(seconds_of(parts, "cross_entropy"), 2);
  EXPECT_EQ(seconds_of(parts, "embedding"), 2);
  EXPECT_EQ(seconds_of(parts, "elementwise"), 1);
  EXPECT_EQ(seconds_of(parts, "communication"), 2);
  EXPECT_EQ(seconds_of(parts, "optimizer"), 2);
  EXPECT_EQ(seconds_of(parts, "normalization"), 0);
  EXPECT_EQ(seconds_of(parts, "other"), 17);  // unknown calls, and time between calls
  EXPECT_EQ(total(parts), 30);
}

TEST(StepTimes, DivideEachBlockAtItsLoss) {
  const NamedSeconds phases = phases_of(made_up_trace(), 30);
  EXPECT_EQ(seconds_of(phases, "forward"), 3 * 2 + 2 * 2);
  EXPECT_EQ(seconds_of(phases, "backward"), 2 * 2 + 3 * 2);
  EXPECT_EQ(seconds_of(phases, "optimizer"), 1 + 3 * 2 + 3);
  EXPECT_EQ(total(phases), 30);
}

TEST(StepTimes, KnowEveryCallOfARealStep) {
  const auto world = make_single_communicator();
  for (const Precision precision : {Precision::f32, Precision::bf16}) {
    const RunConfig config = step_config(*world, precision);
    OpTrace trace;
    const auto traced = make_traced_communicator(*world, trace);
    const Mesh mesh(*traced, config.parallel, test_rank(*world));
    Trainer trainer(config, mesh);
    trainer.replica().context().set_trace(&trace);
    trace.calls.clear();
    trainer.step_on(synthetic_step(config, 0, 1), /*lr=*/0);
    EXPECT_GT(trace.calls.size(), 100u);
    for (const OpTrace::Call& call : trace.calls) EXPECT_STRNE(part_of(call.name), "other") << call.name;
  }
}

TEST(StepTimes, AStepThatIsLookedAtGivesTheSameBits) {
  const auto run = [](bool traced_too) {
    const auto world = make_single_communicator();
    const RunConfig config = step_config(*world, Precision::bf16);
    OpTrace trace;
    const auto traced = make_traced_communicator(*world, trace);
    const Mesh mesh(traced_too ? *traced : *world, config.parallel, test_rank(*world));
    Trainer trainer(config, mesh);
    if (traced_too) trainer.replica().context().set_trace(&trace);
    const Step step = synthetic_step(config, 0, 1);
    std::vector<double> losses;
    for (int i = 0; i < 3; ++i) losses.push_back(trainer.step_on(step, config.schedule.lr).loss());
    EXPECT_EQ(trace.calls.empty(), !traced_too);
    return std::pair(losses,
                     gather(trainer.replica().context(), trainer.replica().params(), mesh.tp(), /*gradients=*/false));
  };
  EXPECT_EQ(run(true), run(false));
}

TEST(StepTimes, AddUpOnEveryGrid) {
  for (const auto& [dp, tp] : {std::pair{1, 1}, {2, 1}, {1, 2}}) {
    run_thread_ranks(dp * tp, [&, dp = dp, tp = tp](Communicator& world) {
      set_num_threads(1);
      RunConfig config = step_config(world);
      config.parallel = {.dp = dp, .tp = tp};
      const StepTimes times = measure_steps(config, world, /*seconds=*/0, test_rank(world));
      EXPECT_EQ(times.steps, 1);
      EXPECT_GT(times.seconds, 0);
      EXPECT_LE(times.best_seconds, times.seconds);
      EXPECT_NEAR(total(times.parts), times.looked_at, 1e-9);  // on the CPU the median step
      EXPECT_NEAR(total(times.phases), times.looked_at, 1e-9);
      for (const auto& [name, seconds] : times.parts) EXPECT_GE(seconds, 0) << name;
      EXPECT_DOUBLE_EQ(times.flops, training_flops(config.model, synthetic_step(config, 0, 1).blocks));
    });
  }
}

}  // namespace
}  // namespace weft::testing
