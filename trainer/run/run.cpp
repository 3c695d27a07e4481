// trainer/run/run.cpp: the loop around Trainer::step: log, validate, save, stop and resume.
#include "trainer/run/run.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>

#include "data/atomic_file.h"
#include "tensor/error.h"
#include "trainer/checkpoint/checkpoint.h"
#include "trainer/checkpoint/checkpoint_manifest.h"
#include "trainer/initial_values.h"
#include "trainer/plan/data_plan.h"
#include "trainer/plan/precision.h"
#include "trainer/plan/prepare_run.h"
#include "trainer/plan/run_plan.h"
#include "trainer/plan/same_on_all_ranks.h"
#include "trainer/prediction/roofline.h"
#include "trainer/run/divergence_report.h"
#include "trainer/run/run_checkpoints.h"
#include "trainer/run/run_folder.h"
#include "trainer/run/run_log.h"
#include "trainer/run/run_report.h"
#include "trainer/run/tuned_gemms.h"
#include "trainer/run/validation_scores.h"

namespace weft {
namespace {

class Run {
 public:
  Run(const RunConfig& config, const Mesh& mesh, const ConfigText& to_text);
  int loop();

 private:
  bool is_main_rank() const { return mesh_.world().is_main_rank(); }
  void open_folder();
  void take_initial_values();
  void start(const std::string& resume_from, const std::string& plan, const std::string& kept_gemms);
  StopRequest own_request();
  bool finished(StopRequest request) const;
  bool out_of_patience() const;
  void take_snapshot_of_data();
  void enter_next_stage();
  std::string known_good_checkpoint();
  void recover_from_divergence(const StepReport& r);
  void go_back(const std::string& reason);
  void finish_save_in_progress();
  void or_go_back(const std::function<void()>& part, bool must);
  bool validate(bool last);
  std::string note(const std::map<std::string, double>& numbers, int64_t step, bool& is_kept);
  void take_scores();
  void note_score_of(const ScoredValidation& scored);
  bool wait_for_scores();
  void save(bool last);

  RunConfig config_;
  const Mesh& mesh_;
  RunLog log_;
  std::string config_text_;
  std::unique_ptr<RunCheckpoints> checkpoints_;  // before trainer_, whose threads call it
  std::unique_ptr<Trainer> trainer_;
  std::optional<BestRule> rule_;
  std::unique_ptr<Validation> validation_;    // none without data.valid
  std::unique_ptr<ValidationScores> scores_;  // none without train.validate_command
  TrainState state_;
  std::unique_ptr<RunFolder> folder_;  // of the main rank
  SignalWatch signals_;
  bool best_is_new_ = false, is_kept_ = false;  // the validation after this step; as one of the best, or for its score
  bool went_back_ = false;                      // since the last save
};

// A run that resumes locks its folder before it reads it. A new run makes its folder, or sets an older run
// aside, when everything else is ready: a run that cannot start changes nothing.
Run::Run(const RunConfig& config, const Mesh& mesh, const ConfigText& to_text)
    : config_(config), mesh_(mesh), log_(config, mesh) {
  Communicator& world = mesh.world();
  const TrainConfig& t = config_.train;
  const bool is_new = world.max(is_main_rank() && RunFolder::would_begin(t.output, t.fresh) ? 1 : 0) == 1;
  if (!is_new) open_folder();
  const PreparedRun run = prepare_run(config, to_text, mesh.own(), world);
  config_ = run.config;
  config_text_ = run.config_text;
  rule_.emplace(config_.train.keep_best, validation_sets(config_.data.valid));
  share_num_passing(config_, world);
  const std::string plan = plan_run(run, mesh);
  if (is_main_rank()) std::fputs(("weft train\n" + plan).c_str(), stderr);
  const std::string tight_fit = require_fit_on_gpus(run, mesh);
  if (!tight_fit.empty()) log_.message(tight_fit);
  const std::string kept_gemms = all_or_none(
      world, [&] { return config_.train.tune_gemm && is_main_rank() ? read_tuned_gemms(config_.train.output) : ""; });
  trainer_ = all_or_none(world, [&] { return std::make_unique<Trainer>(config_, mesh); });
  checkpoints_ = std::make_unique<RunCheckpoints>(config_, config_text_, world, *trainer_, log_);
  validation_ = all_or_none(world, [&] {
    return config_.data.valid.empty() ? nullptr : std::make_unique<Validation>(config_, mesh, *trainer_);
  });
  if (!config_.train.validate_command.empty()) scores_ = std::make_unique<ValidationScores>(config_, world);
  log_.set_limits(limits_of_step(config_, *trainer_, mesh));
  if (run.resume_from.empty()) take_initial_values();
  if (is_new) open_folder();
  start(run.resume_from, plan, kept_gemms);
}

void Run::open_folder() {
  all_or_none(mesh_.world(), [&] {
    if (is_main_rank()) folder_ = std::make_unique<RunFolder>(config_.train.output, config_.train.fresh);
  });
  all_or_none(mesh_.world(), [&] { RunFolder::require_visible(config_.train.output); });
}

void Run::take_initial_values() {
  if (config_.train.init.empty()) return;
  const std::string from =
      initial_values_from(trainer_->replica(), trainer_->states().front(), config_.train.init, config_);
  trainer_->begin_average();
  log_.message(fmt::format("starting with the parameters of {}", from));
}

void Run::start(const std::string& resume_from, const std::string& plan, const std::string& kept_gemms) {
  mesh_.world().limit_waits(config_.parallel.timeout, config_.train.output + "/waiting");
  all_or_none(mesh_.world(), [&] {
    if (!resume_from.empty()) trainer_->load(resume_from, state_);
    take_snapshot_of_data();
    if (!is_main_rank()) return;
    log_.open(*folder_, plan, config_text_, state_);
    folder_->note_started();  // a start that was refused leaves it
  });
  if (config_.train.tune_gemm)
    if (const std::string timed = tune_gemms(*trainer_, config_.train.output, kept_gemms, mesh_.world());
        !timed.empty())
      log_.message(timed);
  if (validation_)
    for (const std::string& remark : validation_->remarks()) log_.message(remark);
  if (resume_from.empty()) return;
  checkpoints_->resume_from(resume_from, state_);
  if (validation_ && !state_.validation_due) validation_->set_done(state_.step);
  if (scores_) {
    scores_->resume(state_);
  } else {
    state_.scores_due.clear();  // the command is gone
  }
  all_or_none(mesh_.world(), [&] {
    if (!is_main_rank()) return;
    for (const std::string& line : describe_resume(resume_from, config_, config_text_, *trainer_, state_))
      log_.message(line);
  });
}

// This rank's pending request, the end of the run's time, or a save that is due. Clocks differ between ranks: the
// main rank's decides.
StopRequest Run::own_request() {
  const StopRequest asked = signals_.take();
  if (!is_main_rank()) return asked;
  const bool time_is_over = config_.train.minutes > 0 && state_.seconds >= 60 * config_.train.minutes;
  return std::max({asked, checkpoints_->is_due(state_) ? StopRequest::save : StopRequest::none,
                   time_is_over ? StopRequest::finish : StopRequest::none});
}

bool Run::finished(StopRequest request) const {
  return request >= StopRequest::finish || state_.step >= config_.train.steps || trainer_->data_is_over();
}

bool Run::out_of_patience() const {
  const TrainConfig& t = config_.train;
  const bool counts = t.patience_from == PatienceFrom::start || trainer_->stages().is_last();
  return t.patience > 0 && counts && state_.best.stale >= t.patience;
}

// Where a run starts, or its stage. What was noted of the losses of other data does not count any more.
void Run::take_snapshot_of_data() {
  const std::vector<PastStage> before = std::move(state_.data.stages);
  trainer_->snapshot(state_);
  if (!before.empty() && before.back().parts != state_.data.stages.back().parts)
    DivergenceRule::begin_data(state_.divergence);
}

// Between two steps. Where a file of the next stage is missing or damaged, the run ends, and has lost nothing.
void Run::enter_next_stage() {
  if (!trainer_->stage_is_over()) return;
  try {
    all_or_none(mesh_.world(), [&] { trainer_->require_next_stage(); });  // no rank is in it before all can be
  } catch (const Error& e) {
    save(/*last=*/true);
    fail(e.kind(), fmt::format("{} after step {}: {}; the run is saved, and the same command goes on once its files "
                               "are whole",
                               describe_next_stage(trainer_->stages(), "cannot begin"), state_.step, e.what()));
  }
  all_or_none(mesh_.world(), [&] { trainer_->enter_next_stage(); });
  take_snapshot_of_data();
  if (config_.train.patience_from == PatienceFrom::last_stage && trainer_->stages().is_last()) state_.best.stale = 0;
  log_.stage_begins(trainer_->stages());
}

std::string Run::known_good_checkpoint() {  // empty if there is none
  std::string good;
  all_or_none(mesh_.world(), [&] {
    if (is_main_rank()) good = newest_whole_checkpoint_until(folder_->checkpoints(), state_.divergence.good_until);
  });
  return mesh_.world().broadcast_string(good, /*root=*/0);
}

// Skipped steps that lower the loss scale are part of f16's search for it: only the others count. All ranks see the
// same numbers and decide the same.
void Run::recover_from_divergence(const StepReport& r) {
  const TrainConfig& t = config_.train;
  if (!r.skipped && r.target_weight == 0) return;  // it has no loss
  const bool lost = r.skipped && !LossScaler::can_lower(r.loss_scale);
  const Divergence found = DivergenceRule(t.divergence_rise).observe(state_.divergence, r.step, r.nll, lost);
  if (found == Divergence::none || (found == Divergence::loss && t.on_divergence == OnDivergence::ignore)) return;
  go_back(describe_divergence(found, r, state_.divergence, t.divergence_rise));
}

// Then the checkpoints on disk do not depend on how fast they are written.
void Run::finish_save_in_progress() {
  try {
    checkpoints_->finish(state_);
  } catch (const Error& e) {  // not finite: not committed
    if (e.kind() != ErrorKind::diverged) throw;
  }
}

// Or ends the run, if it may not. Step and data go on: the sentences since that checkpoint are not repeated.
void Run::go_back(const std::string& reason) {
  const OnDivergence chosen = config_.train.on_divergence;
  finish_save_in_progress();
  const std::string good = known_good_checkpoint();
  const bool may = chosen == OnDivergence::rollback && state_.divergence.rollbacks < DivergenceRule::kMostRollbacks;
  const std::string advice = advice_after_divergence(good, chosen, trainer_->stages().schedule(config_).section);
  if (good.empty() || !may) fail(ErrorKind::diverged, reason + "; " + advice);
  all_or_none(mesh_.world(), [&] { trainer_->go_back_to(good); });
  checkpoints_->go_back_to(good);
  const int64_t good_step = step_of_checkpoint(good);
  if (scores_) scores_->drop_after(good_step, state_);
  state_.best.drop_after(good_step);
  best_is_new_ = is_kept_ = false, went_back_ = true;
  DivergenceRule::note_rollback(state_.divergence, state_.step);
  trainer_->snapshot(state_);
  log_.rollback(state_.step, good_step);
  log_.message(fmt::format("{}; going back to the parameters of {}, and on after step {}", reason, good, state_.step));
}

// Runs a part of a save, or a validation. A model with numbers that are not finite has diverged, too, and is not
// committed: then the run goes back, and the part runs again if it `must`.
void Run::or_go_back(const std::function<void()>& part, bool must) {
  try {
    part();
  } catch (const Error& e) {
    if (e.kind() != ErrorKind::diverged) throw;
    go_back(e.what());
    if (must) part();
  }
}

// Validates if that is due. Returns false if a stop was requested first: then it is still due when the run resumes.
bool Run::validate(bool last) {
  state_.validation_due = false;
  if (!validation_ || !validation_->due(state_.step, last)) return true;
  const auto stop = [&] { return mesh_.world().max(signals_.stop_signal() != 0 ? 1 : 0) == 1; };
  std::optional<ValidationReport> report;
  or_go_back([&] { report = validation_->run(state_.step, stop); }, /*must=*/true);
  state_.validation_due = !report;
  if (!report) return false;
  const bool is_scored = scores_ && scores_->add(*report, state_);
  std::string verdict = "its score decides";
  if (rule_->needs_score()) {
    is_kept_ = is_scored;
  } else {
    verdict = note(report->numbers(), report->step, is_kept_);
    best_is_new_ = is_kept_ && state_.best.step == report->step;
  }
  log_.validation(*report, verdict);
  if (scores_ && !is_scored)
    log_.score({.step = report->step,
                .scores = {},
                .failure = fmt::format("{} validations before it wait for theirs", ValidationScores::kMostDue)},
               "");
  return true;
}

// Of the validation after `step`. Returns the words of the log.
std::string Run::note(const std::map<std::string, double>& numbers, int64_t step, bool& is_kept) {
  is_kept = note_score(numbers, step, *rule_, config_.train.keep_best_checkpoints, state_.best);
  if (is_kept && state_.best.step == step) return "best";
  const int64_t stale = state_.best.stale;
  const StageRun& stages = trainer_->stages();
  const bool of_earlier_stage = stages.is_last() && stages.index() > 0 && step <= stages.first_step();
  if (config_.train.patience_from == PatienceFrom::last_stage && of_earlier_stage) state_.best.stale = 0;
  return stale == 0 ? "not comparable" : fmt::format("{} since the best", stale);
}

// Scores that train.validate_command has said since the last call.
void Run::take_scores() {
  if (!scores_) return;
  for (const ScoredValidation& scored : scores_->take(state_)) note_score_of(scored);
}

void Run::note_score_of(const ScoredValidation& scored) {
  const CommandScore& score = scored.command;
  if (!rule_->needs_score() || !score.failure.empty()) return log_.score(score, "");
  const bool is_of_now = score.step == state_.step;  // at the end: the save follows
  if (!is_of_now && !checkpoints_->has(score.step)) finish_save_in_progress();
  const bool is_saved = checkpoints_->has(score.step);
  if (!is_saved && !is_of_now) return log_.score(score, "not chosen: its checkpoint was not saved");
  bool is_kept = false;
  log_.score(score, note(scored.numbers, score.step, is_kept));
  if (!is_kept) return;
  if (is_saved) checkpoints_->note_best(score.step, state_.best);
  best_is_new_ = !is_saved && state_.best.step == score.step;
}

// At the end of a run. Returns false if a stop was requested first: then they are still due when the run resumes.
bool Run::wait_for_scores() {
  if (!scores_ || state_.scores_due.empty()) return true;
  log_.message(fmt::format("waiting for train.validate_command, which has {} validation{} to score",
                           state_.scores_due.size(), state_.scores_due.size() == 1 ? "" : "s"));
  for (;;) {
    take_scores();
    if (state_.scores_due.empty()) return true;
    if (mesh_.world().max(signals_.stop_signal() != 0 ? 1 : 0) == 1) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

void Run::save(bool last) {
  std::vector<int64_t> awaited;
  if (rule_->needs_score())
    for (const ScoreDue& due : state_.scores_due) awaited.push_back(due.step);
  checkpoints_->save(state_, best_is_new_, last, awaited);
  best_is_new_ = is_kept_ = went_back_ = false;
  if (const std::string newest = checkpoints_->newest(); scores_ && !newest.empty())
    scores_->remove_texts(step_of_checkpoint(newest));
}

int Run::loop() {
  StopRequest request = StopRequest::none;
  const bool time_is_over = mesh_.world().max(own_request() == StopRequest::finish ? 1 : 0) == 1;
  bool last = finished(time_is_over ? StopRequest::finish : StopRequest::none) || out_of_patience();
  if (last && !state_.validation_due && state_.scores_due.empty())
    log_.message(describe_nothing_left(config_, *trainer_, state_.step, out_of_patience()));
  all_or_none(mesh_.world(), [&] {
    if (!last && is_main_rank()) write_file_atomically(folder_->config(), config_text_);
  });
  if (state_.validation_due) {
    if (!validate(last)) request = StopRequest::stop, last = true;
    if (best_is_new_ || went_back_) save(last);
  }
  if (last && request != StopRequest::stop && !wait_for_scores()) request = StopRequest::stop;
  while (!last) {
    enter_next_stage();
    const StepReport report = trainer_->step(own_request());
    request = report.request;
    trainer_->snapshot(state_);
    state_.seconds += report.seconds;
    log_.step(report, so_far(*trainer_, state_.seconds, config_.train.steps));
    if (const auto damage = trainer_->damage_of_next_stage())
      log_.message(fmt::format("{}: {}", describe_next_stage(trainer_->stages(), "could not begin now"), *damage));
    recover_from_divergence(report);
    if (report.save_is_ready && !went_back_) or_go_back([&] { checkpoints_->advance(state_); }, /*must=*/false);
    last = finished(request);
    take_scores();
    // A stop after the last step puts off its validation, too.
    if (!validate(/*last=*/finished(request == StopRequest::stop ? StopRequest::none : request)))
      request = StopRequest::stop;
    last = last || request == StopRequest::stop || out_of_patience();
    if (last && request != StopRequest::stop) {  // the scores may be better ones
      if (!wait_for_scores()) request = StopRequest::stop;
      last = finished(request) || out_of_patience();
    }
    if (last || best_is_new_ || is_kept_ || went_back_ || request == StopRequest::save ||
        (config_.train.save_every > 0 && state_.step % config_.train.save_every == 0))
      or_go_back([&] { save(last); }, /*must=*/true);
  }
  if (request != StopRequest::stop) {
    log_.message(describe_end(config_, *trainer_, state_.step, out_of_patience()));
    all_or_none(mesh_.world(), [&] {
      if (is_main_rank()) folder_->note_finished(state_.step);
    });
    return 0;
  }
  log_.message("stopped on request and saved; the same command resumes");
  return signals_.stop_signal() ? 128 + signals_.stop_signal() : 143;
}

}  // namespace

int run_training(const RunConfig& wanted, Communicator& world, const ConfigText& to_text) {
  const RunConfig config = all_or_none(world, [&] { return resolve(wanted, world.size()); });
  RunConfig compared = config;
  compared.parallel.timeout = 0;  // a rank's own, like its device: changes no number
  require_same_on_all_ranks(config, text_to_keep(compared, to_text), world);
  world.limit_waits(config.parallel.timeout, "");  // there may be no run's folder yet
  const Mesh mesh(world, config.parallel, choose_device(config.device, config.parallel.share_gpu, world));
  return Run(config, mesh, to_text).loop();
}

}  // namespace weft
