// tests/trainer/prediction/step_ops_test.cpp: the ops of the dry run are those of a real step.
#include "trainer/prediction/step_ops.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>

#include "trainer/bench/bench.h"
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

// Without the optimizer, which a CPU runs for each parameter, and packing, which a GPU does not do.
Calls calls_of(const std::vector<OpTrace::Op>& ops) {
  Calls calls;
  for (const OpTrace::Op& op : ops)
    if (const std::string name = op.name; name != "adam" && name != "pack_weight" && name != "sum_squares")
      calls.emplace_back(name, op.cost.bytes, op.cost.flops);
  std::sort(calls.begin(), calls.end());
  return calls;
}

TEST(StepOps, AreThoseOfARealStep) {
  const RunConfig config = traced_config();
  const auto world = make_single_communicator();
  const Mesh mesh(*world, config.parallel);
  Trainer trainer(config, mesh);
  Step data = synthetic_step(config, 0, 1);
  OpTrace trace{.calls = {}, .keeps_ops = true, .ops = {}};
  trainer.replica().context().set_trace(&trace);
  trainer.step_on(data);
  const StepOps ops = step_ops(config, data.blocks.front());
  std::vector<OpTrace::Op> all = ops.block;
  all.insert(all.end(), ops.step.begin(), ops.step.end());
  EXPECT_EQ(calls_of(all), calls_of(trace.ops));
}

TEST(StepOps, HaveAdamAndTheNormOfAllParameters) {
  const RunConfig config = traced_config();
  Step data = synthetic_step(config, 0, 1);
  const StepOps ops = step_ops(config, data.blocks.front());
  const auto bytes_of = [&](const std::string& name) {
    double bytes = 0;
    for (const OpTrace::Op& op : ops.step)
      if (op.name == name) bytes += op.cost.bytes;
    return bytes;
  };
  const auto numel = static_cast<double>(ops.parameters);
  EXPECT_EQ(bytes_of("adam"), 7 * 4 * numel);
  EXPECT_NEAR(bytes_of("sum_squares"), 4 * numel, 16);
}

TEST(StepOps, OfFixedShapesHaveAsManySentencesAsRows) {
  RunConfig config = traced_config();
  config.train.cuda_graph = CudaGraph::on;
  Step data = synthetic_step(config, 0, 1);
  const StepOps ops = step_ops(config, data.blocks.front());
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
