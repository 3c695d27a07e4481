// trainer/trainer_data.cpp: the data of a trainer: its loader, the stages, and the rate and losses that depend on them.
#include "trainer/trainer.h"

namespace weft {

void Trainer::start_loader(const StepCursor& cursor) {
  loader_.reset();  // before another reads ahead
  loader_ = std::make_unique<Loader>(stages_->mix(), config_.batch, config_.train.seed, mesh_.dp().rank(),
                                     mesh_.dp().size(), cursor);
}

// What the loader has read ahead is of the stage that is over.
void Trainer::enter_next_stage() {
  StepCursor cursor = loader_->cursor();
  stages_->advance(cursor);
  start_loader(cursor);
}

// Counts from the step where the schedule began.
double Trainer::rate() const {
  const StageSchedule s =
      stages_ ? stages_->schedule(config_) : StageSchedule{config_.schedule, 0, config_.train.steps};
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
