// trainer/trainer.cpp: the step, and what it is made of.
#include "trainer/trainer.h"

#include <algorithm>
#include <chrono>

#include "data/corpus.h"
#include "data/sha256.h"
#include "tensor/error.h"
#include "tensor/op_formulas.h"
#include "trainer/checkpoint/checkpoint.h"

namespace weft {
namespace {

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

// The arena of one block; `ctx` takes the scratch memory that goes with it.
Arena working_memory(const RunConfig& config, const TensorParallel& tp, Context& ctx) {
  Context dry(ctx.device(), /*dry_run=*/true);
  const size_t bytes = arena_bytes(config, tp, dry);
  ctx.reserve(dry);
  return Arena(bytes, ctx.device());
}

// Declared by the model's constructor, so allocated between it and the optimizer's.
Device allocated(ParamStore& params, Context& ctx, uint64_t seed) {
  params.allocate();
  params.initialize(ctx, seed);
  return ctx.device();
}

DataOrder data_order(const RunConfig& c) {
  return {.manifest_sha256 = c.data.train.empty() ? "" : sha256_of_file(c.data.train + "/manifest.json"),
          .seed = c.train.seed,
          .rows = c.batch.rows,
          .source_rows = c.batch.source_rows,
          .look_ahead = c.batch.look_ahead,
          .page = c.batch.page,
          .window = c.batch.window};
}

std::vector<std::string> tokenizer_files(const std::string& corpus_folder) {
  const Corpus corpus(corpus_folder);
  const Manifest& m = corpus.manifest();
  std::vector<std::string> files{corpus_folder + "/" + m.source_tokenizer};
  if (m.target_tokenizer != m.source_tokenizer) files.push_back(corpus_folder + "/" + m.target_tokenizer);
  return files;
}

}  // namespace

Trainer::Trainer(const RunConfig& config, const Mesh& mesh)
    : config_(config),
      mesh_(mesh),
      device_(mesh, config.parallel.communication, nccl_limits(config.parallel)),
      ctx_(device_.context()),
      tp_(device_.tp()),
      params_(tp_.rank(), tp_.size(), storage_of(config.train.precision), mesh.device()),
      model_(config.model, params_, longest_row(config.batch)),
      optimizer_(params_, config.optimizer, allocated(params_, ctx_, config.train.seed)),
      scaler_(params_.compute_dtype()),
      grad_sync_(device_.dp(), params_.grads()),
      losses_(mesh.device()),
      arena_(working_memory(config, tp_, ctx_)),
      graphs_(config, mesh),
      order_(data_order(config)),
      architecture_(Architecture::of(config.model)) {
  if (!config.data.train.empty()) start_loader({});
}

void Trainer::start_loader(const Cursor& cursor) {
  loader_ = std::make_unique<Loader>(config_.data.train, config_.batch, config_.train.seed, mesh_.dp().rank(),
                                     mesh_.dp().size(), cursor);
}

Pass Trainer::pass(int64_t block, bool training) {
  return {.ctx = ctx_,
          .arena = arena_,
          .tp = tp_,
          .seed = config_.train.seed,
          .step = step_,
          .block = block,
          .training = training,
          .recompute = config_.train.recompute,
          .state = training ? graphs_.state() : nullptr};
}

StepReport Trainer::step(StopRequest request) {
  const double begin = now();
  const Step step = loader_->next();
  StepReport report = step_on(step, request);
  report.seconds = now() - begin;
  return report;
}

StepReport Trainer::step_on(const Step& step, StopRequest request) {
  const double begin = now();
  const double scale = 1.0 / static_cast<double>(step.num_target_tokens), loss_scale = scaler_.scale();
  StepState state{.step = static_cast<uint32_t>(step_), .loss_scale = static_cast<float>(loss_scale * scale)};
  ops::fill(ctx_, {.x = params_.grads()});
  losses_.clear(ctx_);
  grad_sync_.begin();
  device_.dp().set_step(step_ + 1);
  device_.tp().set_step(step_ + 1);
  for (const Block& block : step.blocks) {
    const bool last = &block == &step.blocks.back();  // gradients are complete then, and are summed over dp
    Pass p = pass(block.index, /*training=*/true);
    model_.load(p, block);
    state.block = block.index;
    graphs_.set(ctx_, state);
    graphs_.block(ctx_, last, [&] {
      losses_.add(ctx_, model_.loss_and_gradients(p, config_.train.label_smoothing, loss_scale * scale,
                                                  last ? &grad_sync_ : nullptr));
      if (last) grad_sync_.wait();
    });
  }
  const GradNorm norm = optimizer_.grad_norm(ctx_, mesh_, loss_scale);  // the same on every rank
  const BlockLoss sums = losses_.read(ctx_);                            // the device is waited for here, once a step
  const double lr = learning_rate(config_.schedule, step_, config_.train.steps);
  if (norm.finite) {
    const ops::Adam factors = optimizer_.next_step(lr, norm.clip_scale(config_.optimizer.clip_norm) / loss_scale);
    write_factors(factors, state);
    graphs_.set(ctx_, state);
    graphs_.update(ctx_, [&] { optimizer_.update(ctx_, factors, graphs_.state()); });
  }
  scaler_.update(norm.finite);

  const auto strongest = static_cast<StopRequest>(mesh_.world().max(static_cast<int64_t>(request)));
  return {.step = ++step_,
          .epoch = step.epoch,
          .loss = mesh_.dp().sum(sums.loss) * scale,
          .nll = mesh_.dp().sum(sums.nll) * scale,
          .lr = lr,
          .grad_norm = norm.value,
          .loss_scale = loss_scale,
          .source_tokens = step.num_source_tokens,
          .target_tokens = step.num_target_tokens,
          .seconds = now() - begin,
          .fill = step.fill,
          .skipped = !norm.finite,
          .request = strongest};
}

void Trainer::update(TrainState& state) const {
  state.step = step_;
  state.optimizer_steps = optimizer_.steps();
  state.cursor = loader_->cursor();
  state.order = order_;
  state.model = architecture_;
  state.precision = name_of(params_.compute_dtype());
  state.loss_scale = scaler_.state();
}

std::string Trainer::save(const std::string& root, const TrainState& state, const std::string& config_text) {
  const ErrorFrame frame(fmt::format("while saving step {}; the last complete checkpoint is kept", state.step));
  return save_checkpoint(ctx_, root, state.step, mesh_, params_,
                         {{"model", "", params_.values()},
                          {"optimizer", "adam.m.", optimizer_.first_moment()},
                          {"optimizer", "adam.v.", optimizer_.second_moment()}},
                         state.to_json(), {.config = config_text, .copied_files = tokenizer_files(config_.data.train)});
}

void Trainer::load(const std::string& checkpoint, TrainState& state) {
  TrainState now;
  update(now);
  const nlohmann::json saved = load_checkpoint(ctx_, checkpoint, params_,
                                               {{"model", "", params_.values()},
                                                {"optimizer", "adam.m.", optimizer_.first_moment()},
                                                {"optimizer", "adam.v.", optimizer_.second_moment()}});
  state = TrainState::from_json(saved, checkpoint);
  require_same_run(state, now);
  params_.round_values(ctx_);
  step_ = state.step;
  optimizer_.set_steps(state.optimizer_steps);
  if (state.precision == now.precision) scaler_.restore(state.loss_scale);  // another one begins anew
  start_loader(state.cursor);
}

int64_t longest_row(const BatchConfig& batch) { return std::max(batch.rows, batch.source_rows); }

size_t arena_bytes(const RunConfig& config, const TensorParallel& tp, Context& dry) {
  ParamStore params(tp.rank(), tp.size(), storage_of(config.train.precision), dry.device());
  Transformer model(config.model, params, /*num_sinusoids=*/1);
  Arena arena(dry.device());
  BlockBuilder builder(config.batch.source_rows, config.batch.rows);
  builder.add({}, {});
  Pass p{.ctx = dry, .arena = arena, .tp = tp, .training = true, .recompute = config.train.recompute};
  const DeviceSums sums(2, dry.device());
  const RowLoss rows = model.loss_and_gradients(p, builder.finish(0), config.train.label_smoothing, 1, nullptr);
  ops::sum(dry, {.x = rows.loss, .y = sums[0]});
  ops::sum_squares(dry, {.x = Tensor(nullptr, {params.numel()}, DType::f32, dry.device()), .y = sums[1]});
  return arena.high_water();
}

}  // namespace weft
