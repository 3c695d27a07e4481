// trainer/step/dry_step.cpp: performs dry runs of the forward and backward passes and of the update.
#include "trainer/step/dry_step.h"

#include <string_view>
#include <utility>

#include "parallel/grad_sync.h"
#include "trainer/step/planned_replica.h"
#include "trainer/step/step_totals.h"

namespace weft {
namespace {

class DryStep {
 public:
  DryStep(const RunConfig& c, const TensorParallel& tp, Context& dry, OpTrace* trace = nullptr)
      : config_(c), replica_(c, tp, dry.device(), trace), arena_(dry.device()), sums_(dry.device()) {
    pass_.emplace(Pass{.ctx = dry,
                       .arena = arena_,
                       .tp = tp,
                       .training = true,
                       .recompute = c.train.recompute,
                       .fixed_shapes = c.train.cuda_graph != CudaGraph::off,
                       .sequence = c.parallel.sequence});
  }

  PlannedReplica& replica() { return replica_; }
  Pass& pass() { return *pass_; }
  size_t arena_bytes() const { return arena_.high_water(); }

  void zero() {
    ops::fill(pass_->ctx, {.x = replica_.params.grads()});
    sums_.clear(pass_->ctx);
  }
  void block(const DeviceBatch& batch, GradSync* sync) {
    const ArenaScope scope(arena_);
    sums_.add(pass_->ctx, replica_.model.loss_and_gradients(*pass_, batch, config_.train.loss_options(), sync));
  }
  void last_block(const DeviceBatch& batch) {
    GradSync sync(pass_->ctx, *replica_.dp, replica_.params.grads(), replica_.optimizer.shard());
    sync.begin();
    block(batch, &sync);
    sync.wait();
  }
  void update() {
    replica_.optimizer.add_squares(pass_->ctx, sums_.split_squares(), sums_.whole_squares());
    replica_.optimizer.update(pass_->ctx, &scalars_);
  }

 private:
  const RunConfig& config_;
  PlannedReplica replica_;
  Arena arena_;
  StepSums sums_;
  const StepScalars scalars_;
  std::optional<Pass> pass_;
};

// Sets the ranges of rows per sentence. A dry run keeps them in host memory.
void name_sentences(std::vector<int32_t>& offsets, ops::SequenceRanges& rows) {
  const auto sentences = static_cast<int64_t>(offsets.size()) - 1;
  const Tensor t(offsets.data(), {sentences + 1}, DType::i32, rows.begin.device);
  rows.begin = t.slice_rows(0, sentences), rows.end = t.slice_rows(1, sentences);
}

DeviceBatch load_sentences(Pass& p, const Transformer& model, Block& block) {
  DeviceBatch batch = model.load(p, block);
  for (std::vector<int32_t>* offsets : {&block.source_offsets, &block.target_offsets})
    if (p.fixed_shapes) offsets->resize(static_cast<size_t>(batch.source.rows.begin.numel()) + 1, offsets->back());
  name_sentences(block.source_offsets, batch.source.rows);
  name_sentences(block.target_offsets, batch.target.rows);
  return batch;
}

}  // namespace

size_t arena_bytes(const RunConfig& c, const TensorParallel& tp, Context& dry) {
  DryStep step(c, tp, dry);
  const Block weighted = BlockBuilder(c.batch.source_rows, c.batch.rows, /*weighted=*/true).finish(0);
  const DeviceBatch batch = step.replica().model.load(step.pass(), weighted);
  step.block(batch, nullptr);
  step.update();
  if (c.parallel.gradient_type != GradientType::f32 && c.parallel.dp > 1)
    GradSync::measure(dry, step.replica().params.matrix_numel(), static_cast<int>(c.parallel.dp));
  return step.arena_bytes();
}

StepOps step_ops(const RunConfig& c, Block& block, Device device) {
  Context dry(device, /*dry_run=*/true);
  OpTrace trace{.calls = {}, .keeps_ops = true, .ops = {}};
  const auto tp_group = make_planned_group(static_cast<int>(c.parallel.tp));
  const TensorParallel tp(*tp_group);
  DryStep step(c, tp, dry, &trace);
  const DeviceBatch batch = load_sentences(step.pass(), step.replica().model, block);
  dry.set_trace(&trace);
  StepOps all{.parameters = step.replica().params.numel()};
  step.block(batch, nullptr);
  all.block = std::exchange(trace.ops, {});
  step.last_block(batch);
  all.last_block = std::exchange(trace.ops, {});
  step.zero();
  step.update();
  dry.set_trace(nullptr);
  for (OpTrace::Op& op : trace.ops) {
    if (op.name == std::string_view("pack_weight")) continue;
    (is_dp_collective(op.name) || is_tp_collective(op.name) ? all.exchange : all.step).push_back(std::move(op));
  }
  return all;
}

}  // namespace weft
