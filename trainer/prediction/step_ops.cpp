// trainer/prediction/step_ops.cpp: dry runs of the model's passes, and the ops that Trainer adds.
#include "trainer/prediction/step_ops.h"

#include <algorithm>

#include "model/transformer.h"
#include "trainer/plan/precision.h"
#include "trainer/step_totals.h"
#include "trainer/trainer.h"

namespace weft {
namespace {

ops::SequenceRanges ranges_of(std::vector<int32_t>& offsets) {
  const auto sentences = static_cast<int64_t>(offsets.size()) - 1;
  const Tensor t(offsets.data(), {sentences + 1}, DType::i32);
  return {.begin = t.slice_rows(0, sentences), .end = t.slice_rows(1, sentences)};
}

std::vector<OpTrace::Op> traced(Context& dry, const auto& work) {
  OpTrace trace{.calls = {}, .keeps_ops = true, .ops = {}};
  dry.set_trace(&trace);
  work();
  dry.set_trace(nullptr);
  return std::move(trace.ops);
}

}  // namespace

StepOps step_ops(const RunConfig& c, Block& block) {
  Context dry(Device::cpu, /*dry_run=*/true);
  const auto alone = make_single_communicator();
  const TensorParallel tp(*alone);
  ParamStore params(0, 1, storage_of(c.train.precision));
  const Transformer model(c.model, params, longest_row(c.batch));
  Arena arena(dry.device());
  Pass p{.ctx = dry,
         .arena = arena,
         .tp = tp,
         .training = true,
         .recompute = c.train.recompute,
         .fixed_shapes = c.train.cuda_graph == CudaGraph::on};
  DeviceBatch batch = load_batch(p, block);
  for (std::vector<int32_t>* offsets : {&block.source_offsets, &block.target_offsets})
    if (p.fixed_shapes) offsets->resize(static_cast<size_t>(batch.source.rows.begin.numel()) + 1, offsets->back());
  batch.source.rows = ranges_of(block.source_offsets);
  batch.target.rows = ranges_of(block.target_offsets);

  StepOps all{.parameters = params.numel()};
  const StepSums sums(dry.device());
  all.block = traced(dry, [&] {
    const RowLoss rows = model.loss_and_gradients(p, batch, c.train.label_smoothing, nullptr);
    ops::sum(dry, {.x = rows.loss, .y = sums.loss()});
    ops::sum(dry, {.x = rows.nll, .y = sums.nll()});
  });
  const Tensor flat(nullptr, {params.numel()}, DType::f32, dry.device());
  all.step = traced(dry, [&] {
    ops::fill(dry, {.x = flat});
    sums.clear(dry);
    ops::sum_squares(dry, {.x = flat, .y = sums.whole_squares()});
    const Tensor copy(nullptr, {params.numel()}, params.compute_dtype(), dry.device());
    ops::adam(dry, {.param = flat, .grad = flat, .m = flat, .v = flat, .copy = params.mixed() ? copy : Tensor()});
  });
  return all;
}

}  // namespace weft
