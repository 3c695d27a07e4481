// trainer/prediction/prediction.cpp: times of all ops of a step, added up.
#include "trainer/prediction/prediction.h"

#include <algorithm>

#include "tensor/error.h"
#include "trainer/bench/bench.h"
#include "trainer/bench/synthetic_step.h"
#include "trainer/prediction/kernel_costs.h"
#include "trainer/prediction/op_time.h"
#include "trainer/prediction/step_ops.h"

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

double finish(std::vector<PredictedOp>& all) {  // sorts; returns the sum of their times
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.seconds > b.seconds; });
  double seconds = 0;
  for (const PredictedOp& op : all) seconds += op.seconds;
  return seconds;
}

}  // namespace

RunConfig resolve_prediction(RunConfig c) {
  if (std::max<int64_t>(c.parallel.dp, 1) * c.parallel.tp > 1)
    fail(ErrorKind::usage,
         fmt::format("parallel.dp = {} and parallel.tp = {}: --model predicts one GPU; leave them out", c.parallel.dp,
                     c.parallel.tp));
  if (c.train.precision == Precision::f32)
    fail(ErrorKind::usage, "precision = f32: --model knows the rates of bf16 and f16; give one of them");
  if (c.train.precision == Precision::automatic) c.train.precision = Precision::bf16;
  if (c.train.cuda_graph == CudaGraph::automatic) c.train.cuda_graph = CudaGraph::on;
  for (int64_t* vocabulary : {&c.model.source_vocabulary, &c.model.target_vocabulary})
    if (*vocabulary == 0) *vocabulary = kPredictionVocabulary;
  return resolve_bench(c, *make_single_communicator());
}

Prediction predict(GpuKind gpu, const RunConfig& config) {
  Step data = synthetic_step(config, 0, 1);
  const StepOps ops = step_ops(config, data.blocks.front(), Device::cuda);
  const GpuModel& device = gpu_model(gpu);
  const OpTimes model(device, config.train.cuda_graph == CudaGraph::on), stream(device, /*graph=*/false);
  Prediction p{.gpu = gpu, .config = config, .parameters = ops.parameters};
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

}  // namespace weft
