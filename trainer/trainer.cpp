// trainer/trainer.cpp: implements the training step and its parts.
#include "trainer/trainer.h"

#include <algorithm>
#include <cmath>

#include "data/order/step_plan.h"
#include "tensor/clock.h"
#include "tensor/error.h"
#include "tensor/profiler_range.h"
#include "trainer/checkpoint/checkpoint.h"
#include "trainer/health/not_finite.h"
#include "trainer/health/replica_check.h"
#include "trainer/precision.h"
#include "trainer/stages/training_data.h"
#include "trainer/step/dry_step.h"
#include "trainer/step/step_flops.h"

namespace weft {
namespace {

// True if this rank can measure its waiting for other ranks separately from its own work.
bool sees_waits(const Mesh& mesh, const RunConfig& config) {
  return mesh.world().size() > 1 &&
         (mesh.device() == Device::cpu || stages_through_host(mesh.own(), config.parallel.communication));
}

Block empty_block(const BatchConfig& batch) { return BlockBuilder(batch.source_rows, batch.rows).finish(0); }

bool rounds_gradients(const RunConfig& config, const Mesh& mesh) {
  return config.parallel.gradient_type == GradientType::bf16 && mesh.dp().size() > 1;
}

}  // namespace

Trainer::Trainer(const RunConfig& config, const Mesh& mesh, bool has_mixes)
    : config_(config),
      mesh_(mesh),
      replica_(config, mesh, storage_of(config.train.precision), config.batch.longest_row()),
      ctx_(replica_.context()),
      optimizer_(replica_.params(), config.optimizer,
                 Shard::of_rank(replica_.params().matrix_numel(), mesh.dp(), config.parallel.zero > 0),
                 config.train.ema, {.tp = &replica_.device_mesh().tp(), .dp = &replica_.device_mesh().dp()}),
      scaler_(replica_.params().compute_dtype()),
      busy_(mesh.world()),
      grad_sync_(ctx_, replica_.device_mesh().dp(), replica_.params().grads(), optimizer_.shard(),
                 rounds_gradients(config, mesh) ? DType::bf16 : DType::f32,
                 rounds_gradients(config, mesh) ? consecutive_ranks_per_host(mesh.dp()) : 0),
      sums_(mesh.device()),
      scalars_(mesh.device()),
      graphs_(choose_graphs(config, mesh.own())) {
  if (optimizer_.sharded()) gather_.emplace(replica_.device_mesh().dp(), replica_.params(), optimizer_.shard());
  replica_.params().initialize(ctx_, config.train.seed);
  optimizer_.begin(ctx_);
  begin_average();
  Context dry(mesh.device(), /*dry_run=*/true);
  arena_ = Arena(arena_bytes(config, replica_.tp(), dry), mesh.device());
  ctx_.reserve(dry);
  if (!has_mixes) return;
  const int64_t blocks = blocks_of_rank(config.batch.blocks, 0, mesh.dp().size()).count;
  corpus_losses_.emplace(std::max<int64_t>(1, blocks), config.batch.rows, mesh.device());
}

Pass Trainer::pass(bool training) {
  return {.ctx = ctx_,
          .arena = arena_,
          .tp = replica_.tp(),
          .seed = config_.train.seed,
          .scalars = scalars_.get(),
          .training = training,
          .recompute = config_.train.recompute,
          .fixed_shapes = training && graphs_.enabled(),
          .sequence = config_.parallel.sequence};
}

std::string Trainer::tune_gemms(const std::string& known) {
  const std::string own = ctx_.runtime().tune(known, [&] {
    Pass p = pass(/*training=*/true);
    scalars_.set(ctx_, {.loss_scale = 1});
    const DeviceBatch batch = replica_.model().load(p, empty_block(config_.batch));
    replica_.model().loss_and_gradients(p, batch, config_.train.loss_options(), nullptr);
  });
  const std::string chosen = mesh_.world().broadcast_string(own, /*root=*/0);
  return ctx_.runtime().tune(chosen, [] {});
}

StepReport Trainer::step(TrainingData& data, StopRequest request, double clock) {
  const double begin = monotonic_seconds();
  busy_.resume();
  const Step step = data.next();
  StepReport report = step_on(step, data.rate(step_), request, clock);
  report.stage = data.stages().index();
  data.add(report.totals);
  report.seconds = monotonic_seconds() - begin;
  return report;
}

StepReport Trainer::step_on(const Step& step, double lr, StopRequest request, double clock) {
  const ProfilerRange range(ctx_, fmt::format("step {}", step_ + 1));
  const double begin = monotonic_seconds();
  busy_.resume();
  // Before the exchange, the total weight of the step's target tokens is unknown, so gradients are means over rows.
  const double rows = static_cast<double>(config_.batch.blocks * config_.batch.rows), loss_scale = scaler_.scale();
  StepScalars scalars{.step = static_cast<uint32_t>(step_), .loss_scale = static_cast<float>(loss_scale / rows)};
  zero_gradients();
  graphs_.begin_step(/*is_usual=*/optimizer_.sharded() != weights_are_whole_);
  for (size_t i = 0; i < step.blocks.size(); ++i) {
    add_block(step.blocks[i], /*last=*/i + 1 == step.blocks.size(), scalars);
    if (corpus_losses_) corpus_losses_->keep(ctx_, static_cast<int64_t>(i));
  }
  optimizer_.add_squares(ctx_, sums_.split_squares(), sums_.whole_squares());

  const StepTotals totals = totals_of(step, request, clock);  // sums over all ranks, so this rank waits for the others
  const bool has_weight = totals.target_weight > 0;           // otherwise there is no mean and no gradient
  const double to_mean = has_weight ? rows * totals.per_weight() / loss_scale : 0;
  const double norm = std::sqrt(totals.gradient_square()) * to_mean;
  const std::string no_graphs = totals.refuses_graphs ? stop_recording() : "";  // before a rank replays its update
  if (totals.finite() && has_weight) update(scalars, lr, clip_scale(norm, config_.optimizer.clip_norm) * to_mean);
  const bool lost = !totals.finite() && !LossScaler::can_lower(loss_scale);
  const std::string not_finite = lost ? trace_not_finite(step, scalars) : "";
  scaler_.update(totals.finite());
  ++step_;
  check_replicas();
  busy_.pause();
  return {.step = step_,
          .epochs = step.epochs(),
          .totals = totals,
          .lr = lr,
          .grad_norm = norm,
          .loss_scale = loss_scale,
          .seconds = monotonic_seconds() - begin,
          .not_finite = not_finite,
          .no_graphs = no_graphs};
}

void Trainer::zero_gradients() {
  replica_.device_mesh().set_step(step_ + 1);
  ops::fill(ctx_, {.x = replica_.params().grads()});
  sums_.clear(ctx_);
}

// Adds the block's losses and gradients to the sums of the step. The backward pass of the last block overlaps with the
// sum of gradients over dp. The forward pass of the first block overlaps with the all-gather of new weights, if any.
void Trainer::add_block(const Block& block, bool last, StepScalars& scalars) {
  const ProfilerRange range(ctx_, fmt::format("block {}", block.index));
  const bool gathers = !weights_are_whole_;
  Pass p = pass(/*training=*/true);
  const DeviceBatch batch = replica_.model().load(p, block);
  scalars.block = block.index;
  scalars_.set(ctx_, scalars);
  p.gather = gathers ? &*gather_ : nullptr;
  graphs_.block(ctx_, gathers, last, [&] {
    const ArenaScope scope(arena_);
    if (gathers) gather_->begin();
    if (last) grad_sync_.begin();
    const RowLoss rows =
        replica_.model().loss_and_gradients(p, batch, config_.train.loss_options(), last ? &grad_sync_ : nullptr);
    sums_.add(ctx_, rows);
    if (corpus_losses_) ops::cast(ctx_, {.x = rows.nll, .y = corpus_losses_->of_block()});
    if (!last) return;
    const ProfilerRange wait(ctx_, "dp all_reduce");
    grad_sync_.wait();
  });
  weights_are_whole_ = true;
}

// Waits for the device, which happens only here in a step, and then for the other ranks.
StepTotals Trainer::totals_of(const Step& step, StopRequest request, double clock) {
  StepTotals own{.pairs = step.num_pairs(),
                 .source_tokens = step.source_tokens(),
                 .target_tokens = step.target_tokens(),
                 .target_weight = step.target_weight(),
                 .dropped = step.dropped,
                 .below_score = step.below_score,
                 .flops = training_flops(config_.model, step.blocks, replica_.params().trained_share()) *
                          config_.train.loss_options().num_passes(),
                 .save_goes_on = saver_ != nullptr && saver_->in_progress() && !saver_->is_ready(),
                 .refuses_graphs = graphs_.enabled() && !graphs_.refusal().empty(),
                 .request = request,
                 .clock = clock};
  sums_.read(ctx_, own);
  for (const StepCorpus& corpus : step.corpora) own.corpora.push_back({.passed = corpus.passed});
  if (corpus_losses_) corpus_losses_->add_to(own.corpora, ctx_, step);
  own.busy = {busy_.take()};
  StepTotals totals = exchange_totals(std::move(own), mesh_, optimizer_.sharded());
  if (!sees_waits(mesh_, config_)) totals.busy.clear();
  return totals;
}

// Returns the first reason, which is the same text on all ranks.
std::string Trainer::stop_recording() {
  graphs_.disable();
  const std::vector<std::string> reasons = mesh_.world().all_gather_strings(graphs_.refusal());
  const auto first = std::ranges::find_if_not(reasons, &std::string::empty);
  return fmt::format("the GPU of rank {} refuses to record them ({})", first - reasons.begin(), *first);
}

void Trainer::gather_weights() {
  if (weights_are_whole_) return;
  gather_->begin();
  gather_->finish(ctx_);
  weights_are_whole_ = true;
}

std::unique_ptr<EvaluationWeights> Trainer::evaluation_weights() {
  const ParamStore& params = replica_.params();
  const bool exchanges = optimizer_.has_evaluation_weights();
  if (!exchanges || !params.divided()) gather_weights();  // if divided, EvaluationWeights overwrites the weights
  if (!exchanges) return nullptr;
  if (saver_ != nullptr) saver_->wait_until_copied();
  if (params.divided()) weights_are_whole_ = false;  // because only this rank's shard is restored later
  return std::make_unique<EvaluationWeights>(ctx_, replica_.device_mesh().dp(), params, optimizer_);
}

void Trainer::update(StepScalars& scalars, double lr, double grad_scale) {
  const ProfilerRange range(ctx_, "update");
  if (saver_ != nullptr) saver_->wait_until_copied();
  optimizer_.next_step(scalars, lr, grad_scale);
  scalars_.set(ctx_, scalars);
  graphs_.update(ctx_, [&] { optimizer_.update(ctx_, scalars_.get()); });
  weights_are_whole_ = !optimizer_.sharded();
}

// Finds the first block, rank and parameter with a gradient that is not finite, by computing the gradients of each
// block again. It is called after a step whose summed gradients are not finite. Returns the same text on all ranks.
std::string Trainer::trace_not_finite(const Step& step, StepScalars scalars) {
  const ParamStore& params = replica_.params();
  // With a sharded optimizer, only this rank's shard of the buffer contains sums. The rest is undefined.
  const std::string in_sum = optimizer_.sharded() ? "" : first_gradient_not_finite(ctx_, params);
  std::string in_block;
  for (const Block& block : step.blocks) {
    ops::fill(ctx_, {.x = params.grads()});
    add_block(block, /*last=*/false, scalars);
    if (const std::string found = first_gradient_not_finite(ctx_, params); in_block.empty() && !found.empty())
      in_block = fmt::format("block {} on rank {}: the gradient of {}", block.index, mesh_.world().rank(), found);
  }
  for (const std::string& of_rank : mesh_.world().all_gather_strings(in_block))  // in block order
    if (!of_rank.empty()) return of_rank;
  for (const std::string& of_rank : mesh_.world().all_gather_strings(in_sum))
    if (!of_rank.empty()) return fmt::format("only in the sum over blocks: the gradient of {}", of_rank);
  return optimizer_.sharded() ? "only in the sum over blocks" : "in the sum of squares, but in no gradient";
}

void Trainer::check_replicas() {
  const int64_t every = config_.train.check_replicas;
  if (every == 0 || step_ % every != 0) return;
  const ParamStore& params = replica_.params();
  std::vector<ReplicatedState> states{{"", params.value_buffer()}};
  if (optimizer_.sharded()) {
    gather_weights();
    if (params.divided()) {  // only the rounded values are replicated
      const int64_t n = params.matrix_numel();
      ops::cast(ctx_, {.x = params.rounded().slice_rows(0, n), .y = params.grads().slice_rows(0, n)});
    }
  } else {
    for (const OptimizerState& state : optimizer_.states()) states.push_back({state.what, state.values});
  }
  require_equal_replicas(ctx_, params, states, mesh_);
}

void Trainer::snapshot(TrainState& state) const {
  state.step = step_;
  state.optimizer_steps = optimizer_.steps();
  state.rate_sums = optimizer_.trains_elsewhere() ? std::optional(optimizer_.rate_sums()) : std::nullopt;
  state.precision = name_of(replica_.params().compute_dtype());
  state.loss_scale = scaler_.state();
}

void Trainer::resume(const std::string& checkpoint, const TrainState& then, bool verified) {
  load(checkpoint, then, verified);
  step_ = then.step;
}

void Trainer::load(const std::string& checkpoint, const TrainState& then, bool verified) {
  const std::unique_ptr<Communicator> host = mesh_.world().split_by_host();
  const bool finds_average = all_or_none(
      mesh_.world(), [&] { return optimizer_.has_average() && host->is_main_rank() && has_average(checkpoint); });
  const bool has_average = mesh_.world().max(finds_average ? 1 : 0) == 1;
  std::vector<FlatState> buffers = states();
  if (!has_average) std::erase_if(buffers, [](const FlatState& state) { return state.kind == kAverageKind; });
  all_or_none(mesh_.world(), [&] { load_tensors(ctx_, checkpoint, replica_.params(), buffers, *host, verified); });
  if (!replica_.params().divided()) replica_.params().round_values(ctx_);
  weights_are_whole_ = true;
  if (!has_average) begin_average();
  optimizer_.set_steps(then.optimizer_steps);
  optimizer_.set_rate_sums(then.rate_sums.value_or(RateSums()));
  const bool same_precision = then.precision == name_of(replica_.params().compute_dtype());
  if (same_precision) scaler_.restore(then.loss_scale);  // otherwise the default scale is kept
}

}  // namespace weft
