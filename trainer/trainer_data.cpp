// trainer/trainer_data.cpp: the data of a trainer: its loader, the stages, and the rate and losses that depend on them.
#include <algorithm>

#include "tensor/error.h"
#include "trainer/trainer.h"

namespace weft {

// The corpora of the present stage are the loader's. Those of the next one are verified beside it, so that its first
// step need not wait for their digests.
void Trainer::start_loader(const StepCursor& cursor) {
  verifier_.reset();
  loader_.reset();  // before another reads ahead
  const Mix& mix = stages_->mix();
  std::vector<Corpus*> present;
  for (const Mix::Part& part : mix.parts) present.push_back(&corpora_.at(mix.folder(part)));
  for (auto& [folder, corpus] : corpora_)
    if (std::ranges::find(present, &corpus) == present.end()) corpus.close_shards();
  loader_ = std::make_unique<Loader>(mix, present, config_.batch, config_.train.seed, mesh_.dp().rank(),
                                     mesh_.dp().size(), cursor);
  if (stages_->is_last()) return;
  std::vector<Corpus*> next;
  for (const std::string& folder : stages_->next_folders())
    if (Corpus* corpus = &corpora_.at(folder); std::ranges::find(present, corpus) == present.end())
      next.push_back(corpus);
  verifier_ = std::make_unique<CorpusVerifier>(std::move(next));
}

std::optional<std::string> Trainer::damage_of_next_stage() {
  return verifier_ ? verifier_->take_damage() : std::nullopt;
}

void Trainer::require_next_stage() { verifier_->finish(); }

// What the loader has read ahead is of the stage that is over.
void Trainer::enter_next_stage() {
  StepCursor cursor = loader_->cursor();
  stages_->advance(cursor);
  start_loader(cursor);
}

// Counts from the step where the schedule began.
double Trainer::rate() const {
  const StageSchedule s = stages_ ? stages_->schedule(config_)
                                  : StageSchedule{.schedule = config_.schedule, .total_steps = config_.train.steps};
  return learning_rate(s.schedule, step_ - s.first_step, s.total_steps);
}

std::vector<CorpusTotals> Trainer::totals_of_corpora(const Step& step) {
  if (corpus_losses_) return corpus_losses_->totals(ctx_, step, stages_->mix());
  std::vector<CorpusTotals> totals;
  for (const int64_t passed : step.passed) totals.push_back({.passed = passed});
  if (stages_) totals.resize(stages_->mix().parts.size());  // of a step from elsewhere
  return totals;
}

}  // namespace weft
