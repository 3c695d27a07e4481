// trainer/run.cpp: the loop around Trainer::step: log, validate, save, stop; and going on where it stopped.
#include "trainer/run.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>

#include "data/atomic_file.h"
#include "tensor/error.h"
#include "trainer/checkpoint.h"
#include "trainer/event_log.h"
#include "trainer/plan.h"
#include "trainer/progress.h"
#include "trainer/trainer.h"
#include "trainer/validation.h"

namespace weft {
namespace {

namespace fs = std::filesystem;
using ConfigText = std::function<std::string(const RunConfig&)>;

constexpr int64_t kMaxSkippedSteps = 20;  // in a row; then the run has diverged

// Runs `phase` on this rank; afterwards all ranks go on, or all throw the same Error.
template <typename Phase>
auto together(Communicator& world, Phase&& phase) {
  std::exception_ptr error;
  std::optional<decltype(phase())> result;
  try {
    result.emplace(phase());
  } catch (...) {
    error = std::current_exception();
  }
  agree(world, error);
  return std::move(*result);
}

std::string plan_text(const RunConfig& c, const Mesh& mesh) {
  ParamStore params(mesh.tp().rank(), mesh.tp().size());
  const Transformer model(c.model, params, /*max_positions=*/1);
  const size_t flat = static_cast<size_t>(params.numel()) * sizeof(float);
  const MemoryPlan memory{.parameters = flat,
                          .gradients = flat,
                          .moments = 2 * flat,
                          .activations = arena_bytes(c, TensorParallel(mesh.tp()))};
  return describe_plan(c, params, memory);
}

void set_aside(const std::string& root) {
  std::string aside = root + ".old";
  for (int i = 2; fs::exists(aside); ++i) aside = fmt::format("{}.old{}", root, i);
  fs::rename(root, aside);
}

class Run {
 public:
  Run(const RunConfig& config, const Mesh& mesh, const ConfigText& to_text);
  int loop();

 private:
  bool chief() const { return mesh_.world().rank() == 0; }
  std::string root() const { return config_.train.output + "/checkpoints"; }
  std::string prepare_folder() const;  // the checkpoint to go on from, or ""
  void begin_or_resume();
  bool finished(Wish wish) const;
  void log_step(const StepReport& r);
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
  std::unique_ptr<EventLog> log_;  // of the chief
  std::string last_saved_;         // folder
  int64_t skipped_in_a_row_ = 0, validated_at_ = -1, saved_at_ = -1;
  bool best_is_new_ = false;
  double part_seconds_ = 0, part_source_ = 0, part_target_ = 0;  // since this process began: rates and time left
  int64_t part_steps_ = 0;
};

Run::Run(const RunConfig& config, const Mesh& mesh, const ConfigText& to_text)
    : config_(config),
      mesh_(mesh),
      config_text_(to_text(config)),
      progress_(config.train.log_every, ProgressOutput::standard(/*quiet=*/mesh.world().rank() != 0)) {
  if (chief()) std::fputs(("weft train\n" + plan_text(config, mesh)).c_str(), stderr);
  trainer_ = together(mesh.world(), [&] { return std::make_unique<Trainer>(config, mesh); });
  validation_ = together(mesh.world(), [&] {
    return config.data.valid.empty() ? nullptr : std::make_unique<Validation>(config, mesh, *trainer_);
  });
  begin_or_resume();
}

std::string Run::prepare_folder() const {
  fs::create_directories(config_.train.output);
  if (config_.train.fresh && fs::exists(root())) set_aside(root());
  fs::create_directories(root());
  return find_latest_checkpoint(root()).value_or("");
}

// Rank 0 decides what to go on from; the others follow.
void Run::begin_or_resume() {
  Communicator& world = mesh_.world();
  const std::string found = together(world, [&] { return chief() ? prepare_folder() : std::string(); });
  const std::string from = world.broadcast_string(found, 0);
  together(world, [&] {
    if (!from.empty()) trainer_->load(from, state_);
    trainer_->update(state_);
    if (chief()) {
      write_file_atomically(config_.train.output + "/config.cfg", config_text_);
      log_ = std::make_unique<EventLog>(config_.train.output + "/log.jsonl", state_.step);
    }
    return true;
  });
  if (from.empty()) return;
  saved_at_ = validated_at_ = state_.step;
  last_saved_ = from;
  say(fmt::format("going on from {}: step {}, epoch {}", from, state_.step, state_.cursor.epoch));
}

bool Run::finished(Wish wish) const {
  const TrainConfig& t = config_.train;
  if (wish == Wish::stop || state_.step >= t.steps) return true;
  if (t.patience > 0 && state_.best.stale >= t.patience) return true;
  // Clocks differ between ranks: rank 0's counts.
  return mesh_.world().max(chief() && t.minutes > 0 && state_.seconds >= 60 * t.minutes ? 1 : 0) == 1;
}

void Run::log_step(const StepReport& r) {
  part_seconds_ += r.seconds, ++part_steps_;
  part_source_ += static_cast<double>(r.source_tokens), part_target_ += static_cast<double>(r.target_tokens);
  if (!chief()) return;
  log_->write({{"step", r.step},
               {"epoch", r.epoch},
               {"loss", r.loss},
               {"nll", r.nll},
               {"lr", r.lr},
               {"grad_norm", r.grad_norm},
               {"source_tokens", r.source_tokens},
               {"target_tokens", r.target_tokens},
               {"seconds", r.seconds},
               {"fill", r.fill}});
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

void Run::refuse_divergence(const StepReport& r) {
  skipped_in_a_row_ = r.skipped ? skipped_in_a_row_ + 1 : 0;
  if (r.skipped) say(fmt::format("step {}: a gradient is not finite; all ranks skip the step", r.step));
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
  if (chief()) log_->write(record);
  say(text + (best_is_new_ ? "  (best)" : fmt::format("  ({} since the best)", state_.best.stale)));
}

void Run::note_score(const ValidationReport& report) {
  const bool by_bleu = config_.train.keep_best == BestMetric::bleu && report.translation;
  const double value = by_bleu ? report.translation->bleu.score : -report.loss;
  BestScore& best = state_.best;
  best_is_new_ = !best.known || value > best.value;
  if (best_is_new_)
    best = {.known = true, .value = value, .step = state_.step, .stale = 0};
  else
    ++best.stale;
}

void Run::save() {
  if (saved_at_ == state_.step) return;
  saved_at_ = state_.step;
  last_saved_ = trainer_->save(root(), state_, config_text_);
  together(mesh_.world(), [&] {
    if (!chief()) return true;
    point_to(root(), "latest", last_saved_);
    if (best_is_new_) point_to(root(), "best", last_saved_);
    prune_checkpoints(root(), config_.train.keep_last);
    return true;
  });
  best_is_new_ = false;
  say(fmt::format("saved {}", last_saved_));
}

int Run::loop() {
  const TrainConfig& t = config_.train;
  const auto due = [&](int64_t every) { return every > 0 && state_.step % every == 0; };
  SignalWatch signals;
  Wish wish = Wish::none;
  while (!finished(wish)) {
    const StepReport report = trainer_->step(signals.take());
    wish = report.wish;
    trainer_->update(state_);
    state_.seconds += report.seconds;
    log_step(report);
    refuse_divergence(report);
    if (due(t.validate_every)) validate();
    if (due(t.save_every) || best_is_new_ || wish == Wish::save) save();
  }
  if (wish != Wish::stop && t.validate_every > 0) validate();
  save();
  if (wish != Wish::stop) return 0;
  say("asked to stop: saved; the same command goes on from here");
  return signals.stop_signal() ? 128 + signals.stop_signal() : 143;
}

}  // namespace

int run_training(const RunConfig& wanted, Communicator& world, const ConfigText& to_text) {
  const RunConfig config = together(world, [&] { return resolve(wanted, world.size()); });
  const Mesh mesh(world, config.parallel);
  return Run(config, mesh, to_text).loop();
}

void print_plan(const RunConfig& wanted) {
  const RunConfig config =
      resolve(wanted, static_cast<int>(std::max<int64_t>(wanted.parallel.dp, 1) * wanted.parallel.tp));
  run_thread_ranks(static_cast<int>(config.parallel.tp),
                   [&](Communicator& tp) {  // nothing runs: they stand for one tp group
                     const std::string text = plan_text(config, Mesh(tp, {.dp = 1, .tp = tp.size()}));
                     if (tp.rank() == 0) std::fputs(text.c_str(), stdout);
                   });
}

}  // namespace weft
