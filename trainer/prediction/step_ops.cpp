// trainer/prediction/step_ops.cpp: dry runs of the model's passes, and the ops that Trainer adds.
#include "trainer/prediction/step_ops.h"

#include <algorithm>
#include <iterator>

#include "model/transformer.h"
#include "parallel/grad_sync.h"
#include "parallel/planned_group.h"
#include "trainer/precision.h"
#include "trainer/step_totals.h"
#include "trainer/trainer.h"

namespace weft {
namespace {

ops::SequenceRanges ranges_of(std::vector<int32_t>& offsets) {
  const auto sentences = static_cast<int64_t>(offsets.size()) - 1;
  const Tensor t(offsets.data(), {sentences + 1}, DType::i32);
  return {.begin = t.slice_rows(0, sentences), .end = t.slice_rows(1, sentences)};
}

class TracedDryRun {
 public:
  explicit TracedDryRun(Context& dry) : dry_(dry) { dry.set_trace(&trace_); }
  ~TracedDryRun() { dry_.set_trace(nullptr); }
  OpTrace& trace() { return trace_; }
  std::vector<OpTrace::Op> take() { return std::move(trace_.ops); }

 private:
  Context& dry_;
  OpTrace trace_{.calls = {}, .keeps_ops = true, .ops = {}};
};

// Adjacent parameters that are all split over tp or all whole: a sum of squares each, as a GPU's optimizer has.
std::vector<int64_t> runs_of_split(const ParamStore& params) {
  const auto ranges = params.ranges([&](const Param& p) { return params.tp_size() > 1 && p.spec.tp_dim >= 0; });
  std::vector<int64_t> lengths;
  bool before = false;
  for (const ParamRange& range : ranges) {  // one for each parameter on a CPU
    if (lengths.empty() || range.has_property != before) lengths.push_back(0);
    lengths.back() += range.end - range.begin;
    before = range.has_property;
  }
  return lengths;
}

// A rank's update without Muon's iterations, and before it the norm.
void update_in_a_dry_run(Context& dry, const RunConfig& c, const ParamStore& params, const Shard& shard) {
  const auto flat = [&](int64_t n, DType type = DType::f32) { return Tensor(nullptr, {n}, type, dry.device()); };
  const auto copy = [&](int64_t n) { return params.mixed() ? flat(n, params.compute_dtype()) : Tensor(); };
  const auto average = [&](int64_t n) { return c.train.ema > 0 ? flat(n) : Tensor(); };
  const StepSums sums(dry.device());
  ops::fill(dry, {.x = flat(params.numel())});
  sums.clear(dry);
  for (const int64_t numel : runs_of_split(params))
    ops::sum_squares(dry, {.x = flat(numel / shard.ranks()), .y = sums.whole_squares()});
  const int64_t own = shard.numel() + params.vector_numel();
  if (c.optimizer.kind == OptimizerKind::schedule_free)
    return ops::schedule_free(
        dry, {.param = flat(own), .grad = flat(own), .z = flat(own), .v = flat(own), .copy = copy(own)});
  const int64_t n = c.optimizer.kind == OptimizerKind::muon ? Muon::elements_of(params).count : 0;
  ops::adam(dry, {.param = flat(own - n),
                  .grad = flat(own - n),
                  .m = flat(own - n),
                  .v = flat(own - n),
                  .copy = copy(own - n),
                  .average = average(own - n)});
  if (n == 0) return;
  ops::muon_momentum(dry, {.grad = flat(n), .m = flat(n)});
  ops::muon_update(dry, {.param = flat(n), .update = flat(n), .copy = copy(n), .average = average(n)});
}

}  // namespace

StepOps step_ops(const RunConfig& c, Block& block, Device device) {
  Context dry(Device::cpu, /*dry_run=*/true);
  const auto tp_group = make_planned_group(static_cast<int>(c.parallel.tp));
  const TensorParallel tp(*tp_group);
  ParamStore params(tp.rank(), tp.size(), storage_of(c.train.precision));
  const Transformer model(c.model, params, longest_row(c.batch));
  const auto dp = static_cast<int>(std::max<int64_t>(c.parallel.dp, 1));
  const bool sharded = c.parallel.zero > 0 && dp > 1;
  params.lay_out(sharded ? dp : 1);
  const Shard shard = Shard::of_rank(params.matrix_numel(), *make_planned_group(dp), sharded);
  Arena arena(dry.device());
  Pass p{.ctx = dry,
         .arena = arena,
         .tp = tp,
         .training = true,
         .recompute = c.train.recompute,
         .fixed_shapes = c.train.cuda_graph == CudaGraph::on,
         .sequence = c.parallel.sequence};
  DeviceBatch batch = load_batch(p, block);
  for (std::vector<int32_t>* offsets : {&block.source_offsets, &block.target_offsets})
    if (p.fixed_shapes) offsets->resize(static_cast<size_t>(batch.source.rows.begin.numel()) + 1, offsets->back());
  batch.source.rows = ranges_of(block.source_offsets);
  batch.target.rows = ranges_of(block.target_offsets);

  StepOps all{.parameters = params.numel()};
  const StepSums sums(dry.device());
  const Tensor flat(nullptr, {params.numel()}, DType::f32, dry.device());
  const auto pass = [&](GradSync* sync) {
    const ArenaScope scope(arena);
    const RowLoss rows = model.loss_and_gradients(p, batch, c.train.label_smoothing, sync);
    ops::sum(dry, {.x = rows.loss, .y = sums.loss()});
    ops::sum(dry, {.x = rows.nll, .y = sums.nll()});
  };
  {
    TracedDryRun run(dry);
    pass(nullptr);
    all.block = run.take();
  }
  {
    TracedDryRun run(dry);
    const auto dp_group = make_planned_group(dp, &run.trace());
    GradSync sync(dry, *dp_group, flat, shard);
    sync.begin();
    pass(&sync);
    sync.wait();
    all.last_block = run.take();
  }
  {
    TracedDryRun run(dry);
    update_in_a_dry_run(dry, c, params, shard);
    all.step = run.take();
  }
  if (c.optimizer.kind == OptimizerKind::muon) {
    TracedDryRun run(dry);
    const auto dp_group = make_planned_group(dp, &run.trace());
    const auto tp_group = make_planned_group(tp.size(), &run.trace(), kTpAllReduce);
    Muon::dry_run(dry, params, device, tp_group.get(), dp_group.get());
    for (const OpTrace::Op& op : run.take())
      (is_dp_collective(op.name) || is_tp_collective(op.name) ? all.exchange : all.step).push_back(op);
  }
  return all;
}

}  // namespace weft
