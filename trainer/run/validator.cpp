// trainer/run/validator.cpp: validates, and decides which checkpoints are best.
#include "trainer/run/validator.h"

#include <chrono>
#include <thread>

namespace weft {

Validator::Validator(const RunContext& run, RunCheckpoints& checkpoints) : run_(run), checkpoints_(checkpoints) {
  const RunConfig& c = run.config();
  validation_ = all_or_none(run.world(), [&] {
    return c.data.valid.empty() ? nullptr : std::make_unique<Validation>(c, run.prepared.valid, run.mesh, run.trainer);
  });
  if (!c.train.validate_command.empty())
    scores_ = std::make_unique<ValidationScores>(c.train, run.prepared.valid, run.world());
}

void Validator::resume() {
  if (validation_ && !run_.state.validation_due) validation_->set_done(run_.state.step);
  if (scores_) return scores_->resume(run_.state);
  run_.state.scores_due.clear();  // train.validate_command is no longer set
  if (run_.is_main_rank()) remove_validation_texts(run_.config().train.output + "/validation");
}

std::vector<std::string> Validator::remarks() const {
  return validation_ ? validation_->remarks() : std::vector<std::string>{};
}

bool Validator::validate(bool last) {
  TrainState& state = run_.state;
  state.validation_due = false;
  if (!validation_ || !validation_->due(state.step, last)) return true;
  const auto report = validation_->run(state.step, [&] { return run_.stop_is_requested(); });
  state.validation_due = !report;
  if (!report) return false;
  const bool is_scored = scores_ && scores_->add(*report, state);
  std::string verdict = "waiting for its score";
  bool is_kept = is_scored;
  if (!run_.best_rule().needs_score()) verdict = record(report->numbers(), report->step, is_kept);
  if (is_kept) checkpoints_.want(/*is_best=*/!run_.best_rule().needs_score() && state.best.step == report->step);
  run_.log.validation(*report, verdict);
  if (scores_ && !is_scored)
    run_.log.score({.step = report->step,
                    .scores = {},
                    .failure = fmt::format("{} earlier validations still need a score", ValidationScores::kMaxDue)},
                   "");
  return true;
}

// Records the validation after `step`, and returns its verdict. Sets `is_kept` if its checkpoint is among the best.
std::string Validator::record(const std::map<std::string, double>& numbers, int64_t step, bool& is_kept) {
  BestScore& best = run_.state.best;
  const TrainConfig& t = run_.config().train;
  is_kept = note_score(numbers, step, run_.best_rule(), t.keep_best_checkpoints, best);
  if (is_kept && best.step == step) return "best";
  const int64_t stale = best.stale;
  const StageRun& stages = run_.data.stages();
  const bool of_earlier_stage = stages.is_last() && stages.index() > 0 && step <= stages.first_step();
  if (t.patience_from == PatienceFrom::last_stage && of_earlier_stage) best.stale = 0;
  return stale == 0 ? "not comparable" : fmt::format("validations since the best: {}", stale);
}

void Validator::take_scores() {
  if (!scores_) return;
  for (const ScoredValidation& scored : scores_->take(run_.state)) record_score(scored);
}

void Validator::record_score(const ScoredValidation& scored) {
  const CommandScore& score = scored.command;
  if (!run_.best_rule().needs_score() || !score.failure.empty()) return run_.log.score(score, "");
  const bool is_of_now = score.step == run_.state.step;  // true at the end of a run, before its last save
  if (!is_of_now && !checkpoints_.has(score.step)) checkpoints_.settle();
  const bool is_saved = checkpoints_.has(score.step);
  if (!is_saved && !is_of_now) return run_.log.score(score, "not considered, because its checkpoint was not saved");
  bool is_kept = false;
  run_.log.score(score, record(scored.numbers, score.step, is_kept));
  if (!is_kept) return;
  if (is_saved)
    checkpoints_.record_best(score.step);
  else
    checkpoints_.want(/*is_best=*/run_.state.best.step == score.step);
}

bool Validator::wait_for_scores() {
  const std::vector<ScoreDue>& due = run_.state.scores_due;
  if (!scores_ || due.empty()) return true;
  run_.log.message(fmt::format("waiting for train.validate_command, which must still score {} validation{}", due.size(),
                               due.size() == 1 ? "" : "s"));
  for (;;) {
    take_scores();
    if (due.empty()) return true;
    if (run_.stop_is_requested()) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

void Validator::stop_command() {
  if (scores_) scores_->stop();
}

bool Validator::out_of_patience() const {
  const TrainConfig& t = run_.config().train;
  const bool counts = t.patience_from == PatienceFrom::start || run_.data.stages().is_last();
  return t.patience > 0 && counts && run_.state.best.stale >= t.patience;
}

void Validator::begin_stage() {
  if (run_.config().train.patience_from == PatienceFrom::last_stage && run_.data.stages().is_last())
    run_.state.best.stale = 0;
}

void Validator::drop_after(int64_t step) {
  if (scores_) scores_->drop_after(step, run_.state);
  run_.state.best.drop_after(step);
}

void Validator::remove_texts(int64_t saved) {
  if (scores_) scores_->remove_texts(saved);
}

}  // namespace weft
