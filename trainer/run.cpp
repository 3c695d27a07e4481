// trainer/run.cpp: the loop around Trainer::step: log, validate, save, stop; and going on where it stopped.
#include "trainer/run.h"

#include <algorithm>
#include <cstdio>
#include <memory>

#include "data/atomic_file.h"
#include "parallel/device_mesh.h"
#include "tensor/error.h"
#include "trainer/checkpoint/checkpoint.h"
#include "trainer/initial_values.h"
#include "trainer/plan/memory_fit.h"
#include "trainer/plan/precision.h"
#include "trainer/plan/run_plan.h"
#include "trainer/report/event_log.h"
#include "trainer/report/progress.h"
#include "trainer/run_folder.h"
#include "trainer/step_graphs.h"
#include "trainer/trainer.h"
#include "trainer/validation.h"

namespace weft {
namespace {

using ConfigText = std::function<std::string(const RunConfig&)>;

// In a row, none of which could lower the loss scale; then the run has diverged.
constexpr int64_t kMaxSkippedSteps = 20;

// What a run goes on from; nothing in a new one.
struct Origin {
  std::string checkpoint, precision;
};

// What rank 0 finds is so for all.
Origin find_origin(const RunConfig& c, Communicator& world) {
  const Origin found = all_or_none(world, [&]() -> Origin {
    if (!world.is_main_rank() || c.train.fresh) return {};
    const auto folder = find_latest_checkpoint(c.train.output + "/checkpoints");
    if (!folder) return {};
    const ParamStore none(/*tp_rank=*/0, /*tp_size=*/1);  // tensors are read later
    Context host;
    return {*folder, TrainState::from_json(load_checkpoint(host, *folder, none, {}), *folder).precision};
  });
  return {world.broadcast_string(found.checkpoint, 0), world.broadcast_string(found.precision, 0)};
}

// The remark goes below the plan.
std::string decide_precision(RunConfig& c, Device device, Communicator& world, const Origin& origin) {
  const PrecisionChoice choice =
      choose_precision(c.train.precision, half_instructions(device, world), origin.precision);
  c.train.precision = choice.precision;
  return choice.remark.empty() ? "" : "  " + choice.remark + "\n";
}

std::string plan_text(const RunConfig& c, const Mesh& mesh) {
  ParamStore params(mesh.tp().rank(), mesh.tp().size(), storage_of(c.train.precision));
  const Transformer model(c.model, params, /*num_sinusoids=*/1);
  return describe_plan(c, params, plan_memory(c, TensorParallel(mesh.tp()), mesh.own()), mesh.own());
}

std::string text_to_keep(RunConfig config, const ConfigText& to_text) {
  config.train.fresh = false;               // was for this start; whoever starts from the saved file goes on
  config.device = DeviceChoice::automatic;  // perhaps on other machines
  config.parallel.communication = Communication::automatic;
  config.parallel.share_gpu = false;
  return to_text(config);
}

class Run {
 public:
  Run(const RunConfig& config, const Mesh& mesh, const ConfigText& to_text);
  int loop();

 private:
  bool is_main_rank() const { return mesh_.world().is_main_rank(); }
  void open_folder();
  void take_initial_values();
  void begin_or_resume(const std::string& from);
  StopRequest own_request();  // what this rank was asked for, or finds that it is time for
  bool finished(StopRequest request) const;
  bool out_of_patience() const { return config_.train.patience > 0 && state_.best.stale >= config_.train.patience; }
  void log_step(const StepReport& r);
  void report_epoch(const StepReport& r);
  void refuse_divergence(const StepReport& r);
  void validate();
  void note_score(const ValidationReport& report);
  void save();
  void say(const std::string& text) { progress_.message(text); }

  RunConfig config_;
  const Mesh& mesh_;
  std::string config_text_;
  TrainProgress progress_;
  std::unique_ptr<Trainer> trainer_;
  std::unique_ptr<Validation> validation_;  // none without data.valid
  TrainState state_;
  std::unique_ptr<RunFolder> folder_;  // of the main rank, as is the log
  std::unique_ptr<EventLog> log_;
  std::string last_saved_;  // folder
  SignalWatch signals_;
  int64_t skipped_in_a_row_ = 0, validated_at_ = -1, saved_at_ = -1;
  bool best_is_new_ = false;
  double part_seconds_ = 0, part_source_ = 0, part_target_ = 0;  // since this process began: rates and time left
  int64_t part_steps_ = 0, epoch_ = -1;
  double epoch_steps_ = 0, epoch_source_ = 0, epoch_target_ = 0;
};

Run::Run(const RunConfig& config, const Mesh& mesh, const ConfigText& to_text)
    : config_(config),
      mesh_(mesh),
      progress_(config.train.log_every, ProgressOutput::standard(/*quiet=*/!mesh.world().is_main_rank())) {
  Communicator& world = mesh.world();
  const TrainConfig& t = config_.train;
  const bool begins = world.max(is_main_rank() && RunFolder::would_begin(t.output, t.fresh) ? 1 : 0) == 1;
  if (!begins) open_folder();
  const Origin origin = find_origin(config_, world);
  const std::string remark = decide_precision(config_, mesh.device(), world, origin);
  config_text_ = text_to_keep(config_, to_text);
  require_communication(mesh.device(), config_.parallel.communication);
  require_graphs(config_, mesh.own());
  if (is_main_rank()) std::fputs(("weft train\n" + plan_text(config_, mesh) + remark).c_str(), stderr);
  if (mesh.device() == Device::cuda) {
    const std::string tight =
        all_or_none(world, [&] { return require_fit_on_gpu(config_, TensorParallel(mesh.tp()), mesh.own()); });
    if (!tight.empty()) say(tight);
  }
  trainer_ = all_or_none(world, [&] { return std::make_unique<Trainer>(config_, mesh); });
  validation_ = all_or_none(world, [&] {
    return config_.data.valid.empty() ? nullptr : std::make_unique<Validation>(config_, mesh, *trainer_);
  });
  // Before the folder of a new run is made, or an older run set aside: one that cannot begin changes nothing.
  if (origin.checkpoint.empty()) take_initial_values();
  if (begins) open_folder();
  begin_or_resume(origin.checkpoint);
}

void Run::open_folder() {
  all_or_none(mesh_.world(), [&] {
    if (is_main_rank()) folder_ = std::make_unique<RunFolder>(config_.train.output, config_.train.fresh);
  });
}

// `from`: a checkpoint, or empty.
void Run::begin_or_resume(const std::string& from) {
  Communicator& world = mesh_.world();
  all_or_none(world, [&] {
    if (!from.empty()) trainer_->load(from, state_);
    trainer_->update(state_);
    if (!is_main_rank()) return;
    write_file_atomically(folder_->config(), config_text_);
    log_ = std::make_unique<EventLog>(folder_->log(), state_.step);
  });
  if (from.empty()) return;
  saved_at_ = validated_at_ = state_.step;
  last_saved_ = from;
  say(fmt::format("going on from {}: step {}, epoch {}", from, state_.step, state_.cursor.epoch));
}

void Run::take_initial_values() {
  if (config_.train.init.empty()) return;
  const std::string from =
      initial_values_from(trainer_->context(), config_.train.init, config_, trainer_->params(), mesh_.world());
  trainer_->round_values();
  say(fmt::format("beginning with the parameters of {}", from));
}

// Clocks differ between ranks: rank 0's counts.
StopRequest Run::own_request() {
  const StopRequest asked = signals_.take();
  const double limit = 60 * config_.train.minutes;
  return asked == StopRequest::none && is_main_rank() && limit > 0 && state_.seconds >= limit ? StopRequest::finish
                                                                                              : asked;
}

bool Run::finished(StopRequest request) const {
  return request >= StopRequest::finish || state_.step >= config_.train.steps || out_of_patience();
}

void Run::log_step(const StepReport& r) {
  part_seconds_ += r.seconds, ++part_steps_;
  part_source_ += static_cast<double>(r.source_tokens), part_target_ += static_cast<double>(r.target_tokens);
  if (!is_main_rank()) return;
  nlohmann::ordered_json record{{"step", r.step},
                                {"epoch", r.epoch},
                                {"loss", r.loss},
                                {"nll", r.nll},
                                {"lr", r.lr},
                                {"grad_norm", r.grad_norm},
                                {"source_tokens", r.source_tokens},
                                {"target_tokens", r.target_tokens},
                                {"seconds", r.seconds},
                                {"fill", r.fill}};
  if (config_.train.precision == Precision::f16) record["loss_scale"] = r.loss_scale;
  if (r.skipped) record["skipped"] = true;
  log_->write(record);
  const TrainConfig& t = config_.train;
  const double by_steps = static_cast<double>(t.steps - state_.step) * part_seconds_ / static_cast<double>(part_steps_);
  const double by_time = t.minutes > 0 ? 60 * t.minutes - state_.seconds : by_steps;
  const double left = std::max(0.0, std::min(by_steps, by_time));
  progress_.step({.step = state_.step,
                  .total_steps = t.steps,
                  .fraction = state_.seconds / std::max(state_.seconds + left, 1e-9),
                  .loss = r.loss,
                  .nll = r.nll,
                  .lr = r.lr,
                  .grad_norm = r.grad_norm,
                  .source_tokens_per_second = part_source_ / part_seconds_,
                  .target_tokens_per_second = part_target_ / part_seconds_,
                  .fill = r.fill,
                  .eta_seconds = left});
}

// At the first step of a new epoch: how well its blocks were filled, and what did not fit.
void Run::report_epoch(const StepReport& r) {
  const double rows = static_cast<double>(config_.batch.blocks);
  epoch_steps_ += 1, epoch_source_ += static_cast<double>(r.source_tokens),
      epoch_target_ += static_cast<double>(r.target_tokens);
  if (r.epoch == epoch_) return;
  if (epoch_ >= 0)
    say(fmt::format("epoch {} begins; blocks so far were filled {:.2f} % with source, {:.2f} % with target{}", r.epoch,
                    100 * epoch_source_ / (epoch_steps_ * rows * static_cast<double>(config_.batch.source_rows)),
                    100 * epoch_target_ / (epoch_steps_ * rows * static_cast<double>(config_.batch.rows)),
                    trainer_->dropped() == 0
                        ? ""
                        : fmt::format("; {} pairs left out, longer than a block (batch.rows)", trainer_->dropped())));
  epoch_ = r.epoch;
}

// A skipped step that lowers the loss scale is f16 finding its range: only those that cannot count.
void Run::refuse_divergence(const StepReport& r) {
  const bool lowers_scale = r.loss_scale > LossScaler::kFloor;
  if (!r.skipped) skipped_in_a_row_ = 0;
  if (r.skipped && !lowers_scale) ++skipped_in_a_row_;
  if (r.skipped)
    say(fmt::format("step {}: a gradient is not finite; all ranks skip the step{}", r.step,
                    lowers_scale ? fmt::format(" and halve the loss scale, {:.0f}", r.loss_scale) : ""));
  if (skipped_in_a_row_ < kMaxSkippedSteps) return;
  fail(ErrorKind::diverged,
       fmt::format(
           "{} steps in a row had gradients that are not finite: the run has diverged; go back to {} with a lower "
           "schedule.lr, a longer schedule.warmup or optimizer.clip_norm",
           kMaxSkippedSteps, last_saved_.empty() ? "the start" : last_saved_));
}

void Run::validate() {
  if (!validation_ || validated_at_ == state_.step) return;
  validated_at_ = state_.step;
  const ValidationReport report = validation_->run();
  nlohmann::ordered_json record{{"step", state_.step}, {"valid_loss", report.loss}, {"valid_nll", report.nll}};
  std::string text = fmt::format("step {}: validation loss {:.4f}, nll {:.4f}", state_.step, report.loss, report.nll);
  if (report.translation) {
    const double bleu = report.translation->bleu.score, chrf = report.translation->chrf.score;
    record["bleu"] = bleu, record["chrf"] = chrf;
    text += fmt::format(", BLEU {:.2f}, chrF2 {:.2f}", bleu, chrf);
  }
  note_score(report);
  if (is_main_rank()) log_->write(record);
  say(text + (best_is_new_ ? "  (best)" : fmt::format("  ({} since the best)", state_.best.stale)));
}

void Run::note_score(const ValidationReport& report) {
  const bool by_bleu = config_.train.keep_best == BestMetric::bleu;
  const std::string metric = by_bleu ? "bleu" : "loss";
  const double value = by_bleu ? report.translation->bleu.score : -report.loss;
  BestScore& best = state_.best;
  best_is_new_ = best.metric != metric || value > best.value;
  if (best_is_new_)
    best = {.metric = metric, .value = value, .step = state_.step, .stale = 0};
  else
    ++best.stale;
}

void Run::save() {
  if (saved_at_ == state_.step) return;
  saved_at_ = state_.step;
  last_saved_ = trainer_->save(config_.train.output + "/checkpoints", state_, config_text_);
  all_or_none(mesh_.world(), [&] {
    if (!is_main_rank()) return;
    point_to(folder_->checkpoints(), "latest", last_saved_);
    if (best_is_new_) point_to(folder_->checkpoints(), "best", last_saved_);
    prune_checkpoints(folder_->checkpoints(), config_.train.keep_last);
  });
  best_is_new_ = false;
  say(fmt::format("saved {}", last_saved_));
}

int Run::loop() {
  const TrainConfig& t = config_.train;
  const auto due = [&](int64_t every) { return every > 0 && state_.step % every == 0; };
  bool last = finished(mesh_.world().max(own_request() == StopRequest::finish ? 1 : 0) == 1 ? StopRequest::finish
                                                                                            : StopRequest::none);
  if (last)
    say(fmt::format("nothing is left to do after step {}: give more train.steps or train.minutes", state_.step));
  StopRequest request = StopRequest::none;
  while (!last) {
    const StepReport report = trainer_->step(own_request());
    request = report.request;
    trainer_->update(state_);
    state_.seconds += report.seconds;
    log_step(report);
    report_epoch(report);
    refuse_divergence(report);
    last = finished(request);
    if (due(t.validate_every) || (last && request != StopRequest::stop && t.validate_every > 0)) validate();
    last = last || out_of_patience();
    if (last || due(t.save_every) || best_is_new_ || request == StopRequest::save) save();
  }
  if (request != StopRequest::stop) return 0;
  say("asked to stop: saved; the same command goes on from here");
  return signals_.stop_signal() ? 128 + signals_.stop_signal() : 143;
}

}  // namespace

int run_training(const RunConfig& wanted, Communicator& world, const ConfigText& to_text) {
  const RunConfig config = all_or_none(world, [&] { return resolve(wanted, world.size()); });
  const Mesh mesh(world, config.parallel, choose_device(config.device, config.parallel.share_gpu, world));
  return Run(config, mesh, to_text).loop();
}

void print_plan(const RunConfig& wanted, Communicator& world) {
  const auto named = static_cast<int>(std::max<int64_t>(wanted.parallel.dp, 1) * wanted.parallel.tp);
  RunConfig config = all_or_none(world, [&] { return resolve(wanted, world.size() > 1 ? world.size() : named); });
  const RankDevice own = choose_device(config.device, config.parallel.share_gpu, world);
  const std::string remark = decide_precision(config, own.device, world, find_origin(config, world));
  require_communication(own.device, config.parallel.communication);
  require_graphs(config, own);
  if (!world.is_main_rank()) return;
  run_thread_ranks(static_cast<int>(config.parallel.tp),
                   [&](Communicator& tp) {  // nothing runs: they stand for one tp group
                     const Mesh mesh(tp, {.dp = 1, .tp = tp.size()}, own);
                     const std::string text = plan_text(config, mesh) + remark;
                     if (tp.is_main_rank()) std::fputs(text.c_str(), stdout);
                     if (own.device != Device::cuda) return;
                     const std::string tight = require_fit_on_gpu(config, TensorParallel(mesh.tp()), own);
                     if (tp.is_main_rank() && !tight.empty()) fmt::print("  {}\n", tight);
                   });
}

}  // namespace weft
