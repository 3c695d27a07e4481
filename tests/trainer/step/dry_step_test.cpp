// tests/trainer/step/dry_step_test.cpp: the ops of the dry run are those of a real step.
#include "trainer/step/dry_step.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "trainer/bench/bench.h"
#include "trainer/bench/step_times.h"
#include "trainer/bench/synthetic_step.h"
#include "trainer/trainer.h"

namespace weft::testing {
namespace {

RunConfig traced_config() {
  RunConfig c;
  c.model.width = 16, c.model.heads = 2, c.model.feed_forward = 32;
  c.model.encoder_layers = c.model.decoder_layers = 2;
  c.model.source_vocabulary = c.model.target_vocabulary = 50;
  c.batch.rows = 64, c.batch.blocks = 1;
  c.train.precision = Precision::f32;
  return resolve_bench(c, *make_single_communicator());
}

using Calls = std::vector<std::tuple<std::string, double, double>>;  // op, bytes and operations

// Leaves out packing, which a GPU does not do.
Calls calls_of(const std::vector<OpTrace::Op>& ops) {
  Calls calls;
  for (const OpTrace::Op& op : ops)
    if (const std::string name = op.name; name != "pack_weight") calls.emplace_back(name, op.cost.bytes, op.cost.flops);
  std::sort(calls.begin(), calls.end());
  return calls;
}

std::vector<OpTrace::Op> ops_of_a_step(const RunConfig& config) {  // of the trainer
  const auto world = make_single_communicator();
  const Mesh mesh(*world, config.parallel);
  Trainer trainer(config, mesh);
  OpTrace trace{.calls = {}, .keeps_ops = true, .ops = {}};
  trainer.replica().context().set_trace(&trace);
  trainer.step_on(synthetic_step(config, 0, 1), /*lr=*/0);
  return trace.ops;
}

TEST(StepOps, AreThoseOfARealStepOfEachOptimizer) {
  for (const auto& [name, kind] : enum_names(OptimizerKind{})) {
    SCOPED_TRACE(name);
    RunConfig config = traced_config();
    config.optimizer.kind = kind;
    config.train.ema = kind == OptimizerKind::schedule_free ? 0 : 0.9;
    Step data = synthetic_step(config, 0, 1);
    const StepOps ops = step_ops(config, data.blocks.front(), Device::cpu);
    std::vector<OpTrace::Op> all = ops.block;
    all.insert(all.end(), ops.step.begin(), ops.step.end());
    EXPECT_EQ(calls_of(all), calls_of(ops_of_a_step(config)));
  }
}

// Elements of the operands of each op of the norm and the update.
std::map<std::string, double> updates_of(const std::vector<OpTrace::Op>& ops) {
  std::map<std::string, double> elements;
  for (const OpTrace::Op& op : ops)
    if (part_of(op.name) == std::string("optimizer"))
      for (const OpTrace::Operand& operand : op.operands)
        elements[op.name] += static_cast<double>(operand.tensor.numel());
  return elements;
}

TEST(StepOps, OfAShardedOptimizerUpdateAShare) {
  RunConfig config = traced_config();
  Step data = synthetic_step(config, 0, 1);
  const auto whole = updates_of(step_ops(config, data.blocks.front(), Device::cpu).step);
  config.parallel.dp = 4, config.parallel.zero = 1;
  const auto share = updates_of(step_ops(config, data.blocks.front(), Device::cpu).step);
  for (const auto& [name, elements] : whole) EXPECT_NEAR(share.at(name), elements / 4, 0.1 * elements) << name;
}

double flops_of_update(RunConfig config, int dp) {
  config.optimizer.kind = OptimizerKind::muon, config.parallel.dp = dp;
  Step data = synthetic_step(config, 0, 1);
  double flops = 0;
  for (const OpTrace::Op& op : step_ops(config, data.blocks.front(), Device::cpu).step) flops += op.cost.flops;
  return flops;
}

TEST(StepOps, HaveTheMostOfMuonThatARankHas) {
  RunConfig config = traced_config();
  config.model.encoder_layers = config.model.decoder_layers = 6;
  config.model.feed_forward = 4 * config.model.width;  // as base and big
  const double all = flops_of_update(config, 1);
  EXPECT_LE(flops_of_update(config, 8), 1.12 * all / 8);
  EXPECT_LE(flops_of_update(config, 32), 1.12 * all / 32);
  EXPECT_GE(flops_of_update(config, 32), all / 32);
  EXPECT_DOUBLE_EQ(flops_of_update(config, 1000), all / 48);  // the largest of 96 matrices
}

TEST(StepOps, OfFixedShapesHaveAsManySentencesAsRows) {
  RunConfig config = traced_config();
  config.train.cuda_graph = CudaGraph::on;
  Step data = synthetic_step(config, 0, 1);
  const StepOps ops = step_ops(config, data.blocks.front(), Device::cpu);
  for (const OpTrace::Op& op : ops.block) {
    for (const OpTrace::Operand& operand : op.operands) {
      if (operand.name == std::string("q_rows begin")) {
        EXPECT_EQ(operand.tensor.rows(), 64);
      }
    }
  }
}

}  // namespace
}  // namespace weft::testing
