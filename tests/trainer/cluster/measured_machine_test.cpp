// tests/trainer/cluster/measured_machine_test.cpp: a plan from a measurement repeats what was measured.
#include "trainer/cluster/measured_machine.h"

#include <gtest/gtest.h>

#include <cmath>

#include "trainer/cluster/cluster_plan.h"

namespace weft::testing {
namespace {

// Returns the report of one rank that took 3 s for the passes of 4 blocks and 0.5 s for the update.
BenchReport one_rank(OptimizerKind optimizer = OptimizerKind::adam) {
  RunConfig c;
  c.optimizer.kind = optimizer;
  c.model.width = 64, c.model.heads = 4, c.model.feed_forward = 64;
  c.model.encoder_layers = c.model.decoder_layers = 1;
  c.batch.rows = 256, c.batch.blocks = 4;
  c.train.precision = Precision::f32;
  BenchReport report{.config = resolve_bench(c, *make_single_communicator())};
  report.step.phases = {{"forward", 1}, {"backward", 2}, {"optimizer", 0.5}};
  report.step.parts = {{"gemm", 3}, {"optimizer", 0.5}};
  return report;
}

TEST(MeasuredMachine, RepeatsTheMeasuredStep) {
  PlanRequest request{.config = one_rank().config, .machine = measured_machine(one_rank())};
  const StepSeconds s = plan_cluster(request).alone.seconds;
  EXPECT_NEAR(s.compute, 3, 0.002);  // constants have four digits
  EXPECT_NEAR(s.optimizer, 0.5, 0.0005);
  EXPECT_EQ(request.machine.processor.flops.origin, ConstantOrigin::measured);
  EXPECT_EQ(request.machine.processor.planner.origin, ConstantOrigin::assumed);
}

TEST(MeasuredMachine, RepeatsAStepOfMuon) {
  const BenchReport report = one_rank(OptimizerKind::muon);
  EXPECT_NEAR(plan_cluster({.config = report.config, .machine = measured_machine(report)}).alone.seconds.optimizer, 0.5,
              0.0005);
}

TEST(MeasuredMachine, HasTheLinksOfItsAllReduces) {
  BenchReport report = one_rank();
  report.ranks = 2;
  report.all_reduce = {{4096, 1e-5}, {64 << 20, 0.02}};
  const Machine m = measured_machine(report);
  EXPECT_EQ(m.node.ranks, 2);
  EXPECT_NEAR(m.node.latency, 1e-5, 1e-9);
  EXPECT_NEAR(m.node.bandwidth, (64 << 20) / (0.02 - 1e-5), 1e7);
  EXPECT_NEAR(m.network.host_latency, 1e-5, 1e-9);
}

TEST(MeasuredMachine, RecordsTheShareOfOtherPrograms) {
  BenchReport report = one_rank();
  report.load = {.other_cores = 1, .cores = 4};
  EXPECT_DOUBLE_EQ(measured_machine(report).other_programs, 0.25);
  report.load.other_cores = std::nan("");
  EXPECT_EQ(measured_machine(report).other_programs, 0);
}

}  // namespace
}  // namespace weft::testing
